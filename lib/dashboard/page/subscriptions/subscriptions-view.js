import { h } from '../dom.js';
import { formatCount, formatDuration } from '../format.js';
import { t } from '../language.js';
import { hashOf } from '../router.js';
import { tasksHash } from '../routes.js';
import { showSearchedList } from '../searched-list.js';
import { table } from '../table.js';
import { shown } from '../text.js';
import { addSubscriptionButton } from './add-form.js';
import { conditionOf } from './condition.js';

/** @typedef {import('../../api.ts').SubscriptionJson} Subscription */

/**
 * Who receives which topic, and how delivery goes.
 *
 * @type {import('../main.js').View}
 */
export function showSubscriptions(context) {
  const { info } = context;
  showSearchedList(context, {
    name: 'subscriptions',
    searchId: 'subscription-search',
    button: info.actions.includes('add-subscription') && addSubscriptionButton(info),
    words: (/** @type {Subscription} */ { id, topic, url }) => [id, topic, url],
    show: subscriptionTable,
  });
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
