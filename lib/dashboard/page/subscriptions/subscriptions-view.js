import { read } from '../api-client.js';
import { h } from '../dom.js';
import { fill } from '../fill.js';
import { formatCount, formatDuration } from '../format.js';
import { t } from '../language.js';
import { repeat } from '../repeat.js';
import { hashOf } from '../router.js';
import { tasksHash } from '../routes.js';
import { attempt, failure, loading, nothing } from '../states.js';
import { table } from '../table.js';
import { shown } from '../text.js';
import { addSubscriptionButton } from './add-form.js';
import { conditionOf } from './condition.js';

/** @typedef {import('../../api.ts').SubscriptionJson} Subscription */
/** @typedef {import('../../api.ts').SubscriptionsJson} Subscriptions */

const refreshEveryMs = 10_000;

/**
 * Who receives which topic, and how delivery goes.
 *
 * @type {import('../main.js').View}
 */
export function showSubscriptions({ main, info, signal }) {
  /** @type {readonly Subscription[] | null} */
  let subscriptions = null;
  const search = h('input', {
    id: 'subscription-search',
    type: 'search',
    oninput: () => render(),
    autocomplete: 'off',
  });
  const problem = h('div');
  const list = h('div', { class: 'results' });
  fill(
    main,
    h(
      'div',
      { class: 'heading' },
      h('h1', { tabindex: '-1' }, t('nav.subscriptions')),
      info.actions.includes('add-subscription') && addSubscriptionButton(info),
      h('div', { class: 'go-to' }, h('label', { for: search.id }, t('subscriptions.search')), search),
    ),
    problem,
    list,
  );
  fill(list, loading());
  void load();
  repeat(load, refreshEveryMs, signal);

  async function load() {
    await attempt(
      async () => {
        /** @type {Subscriptions} */
        const answer = await read('subscriptions', null, signal);
        ({ subscriptions } = answer);
        fill(problem);
        render();
      },
      (error) => {
        if (!subscriptions) fill(list);
        fill(
          problem,
          failure(error, () => void load()),
        );
      },
    );
  }

  function render() {
    if (!subscriptions) return;
    const words = search.value.trim().toLowerCase();
    const found = subscriptions.filter(({ id, topic, url }) =>
      [id, topic, url ?? ''].some((text) => text.toLowerCase().includes(words)),
    );
    if (subscriptions.length === 0)
      fill(list, nothing(t('subscriptions.none'), t('subscriptions.none.hint')));
    else if (found.length === 0)
      fill(list, nothing(t('subscriptions.noMatch'), t('subscriptions.noMatch.hint')));
    else fill(list, subscriptionTable(found));
  }
}

/** @param {readonly Subscription[]} subscriptions */
function subscriptionTable(subscriptions) {
  return table({
    caption: t('subscriptions.caption'),
    rows: subscriptions,
    key: ({ id }) => id,
    attributes: (subscription) => ({
      'data-subscription': subscription.id,
      'data-status': conditionOf(subscription).name,
    }),
    columns: [
      {
        label: t('fact.subscription'),
        kind: 'head',
        cell: ({ id }) => h('a', { href: hashOf('subscription', { id }) }, shown(id)),
      },
      { label: t('fact.topic'), kind: 'name', cell: ({ topic }) => shown(topic) },
      { label: t('subscriptions.condition'), cell: (subscription) => conditionOf(subscription).badge },
      {
        label: t('subscriptions.receiver'),
        kind: 'wide',
        cell: ({ url }) =>
          url === null ? h('span', { class: 'muted' }, t('subscriptions.code')) : shown(url, 80),
      },
      { label: t('status.succeeded'), kind: 'number', cell: ({ succeeded }) => formatCount(succeeded) },
      {
        label: t('status.failed'),
        kind: 'number',
        cell: ({ id, topic, failed }) =>
          failed === 0
            ? formatCount(0)
            : h(
                'a',
                {
                  class: 'bad',
                  href: tasksHash({ topic, subscriptionId: id }, { status: 'failed', latest: 'false' }),
                },
                formatCount(failed),
              ),
      },
      {
        label: t('tile.wait'),
        kind: 'number',
        cell: ({ waitP95 }) => (waitP95 === null ? '–' : formatDuration(waitP95)),
      },
      {
        label: t('status.pending'),
        kind: 'number',
        cell: ({ pending, pendingIsCapped }) => formatCount(pending, pendingIsCapped),
      },
    ],
  });
}
