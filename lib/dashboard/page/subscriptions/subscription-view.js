import { read } from '../api-client.js';
import { h } from '../dom.js';
import { fill } from '../fill.js';
import { t } from '../language.js';
import { pauseButton } from '../pause.js';
import { repeat } from '../repeat.js';
import { hashOf } from '../router.js';
import { attempt, failure, loading, nothing } from '../states.js';
import { taskTable } from '../tasks/task-table.js';
import { visibleLine } from '../text.js';
import { activateButton } from './activate.js';
import { editButton } from './edit-form.js';
import { pingButton } from './ping.js';
import { removeButton } from './remove.js';
import { secretButton } from './secret.js';
import { subscriptionFacts } from './subscription-facts.js';

/** @typedef {import('../../api.ts').SubscriptionJson} Subscription */
/** @typedef {import('../../api.ts').TasksJson} Tasks */

const refreshEveryMs = 5000;

/** Deliveries of the log; the list of tasks has the rest. */
const logLength = 20;

/**
 * One subscription: its fields, its endpoint, its last deliveries.
 *
 * @type {import('../main.js').View}
 */
export function showSubscription({ main, info, signal }, { id }) {
  const path = `subscriptions/${encodeURIComponent(id)}`;
  let isShown = false;
  const slots = { problem: h('div'), facts: h('div'), log: h('div') };
  fill(
    main,
    h('p', { class: 'back' }, h('a', { href: hashOf('subscriptions') }, `← ${t('nav.subscriptions')}`)),
    h('h1', { tabindex: '-1', class: 'text' }, h('bdi', null, visibleLine(id.slice(0, 200)))),
    slots.problem,
    slots.facts,
    slots.log,
  );
  fill(slots.facts, loading());
  void load();
  repeat(load, refreshEveryMs, signal);

  async function load() {
    await attempt(
      async () => {
        /** @type {readonly [Subscription, Tasks]} */
        const [subscription, log] = await Promise.all([
          read(path, null, signal),
          read(
            'tasks',
            new URLSearchParams({ subscription: id, latest: 'false', limit: String(logLength) }),
            signal,
          ),
        ]);
        isShown = true;
        fill(slots.problem);
        fill(slots.facts, subscriptionFacts(subscription), buttons(subscription));
        fill(slots.log, deliveryLog(subscription, log));
      },
      (error) => {
        if (!isShown) fill(slots.facts);
        fill(
          slots.problem,
          failure(error, () => void load()),
        );
      },
    );
  }

  /** @param {Subscription} subscription */
  function buttons(subscription) {
    const { topic, paused, active, url } = subscription;
    const may = (/** @type {import('../../api.ts').DashboardAction} */ action) =>
      info.actions.includes(action);
    const offered = [
      may('pause') && active && pauseButton({ topic, subscriptionId: id }, paused, load),
      may('edit-subscription') && editButton(subscription, load),
      may('edit-subscription') && activateButton(subscription, load),
      may('ping') && info.webhooks && url !== null && pingButton(id),
      may('create-secret') && info.webhooks && url !== null && secretButton(id),
      may('remove-subscription') && removeButton(subscription, may('edit-subscription'), load),
    ].filter((button) => button !== false);
    return offered.length === 0
      ? null
      : h('div', { class: 'buttons', role: 'group', 'aria-label': t('table.actions') }, offered);
  }
}

/**
 * @param {Subscription} subscription
 * @param {Tasks} log
 */
function deliveryLog({ id }, { tasks, next }) {
  return h(
    'section',
    { 'aria-labelledby': 'log-title' },
    h(
      'div',
      { class: 'section-head' },
      h('h2', { id: 'log-title' }, t('subscription.log')),
      h(
        'a',
        { href: hashOf('tasks', { params: { subscription: id, latest: 'false' } }) },
        t('subscription.log.all'),
      ),
    ),
    tasks.length > 0
      ? taskTable(tasks, t('subscription.log'))
      : nothing(
          t('subscription.log.none'),
          t(next === null ? 'subscription.log.none.hint' : 'subscription.log.far'),
        ),
  );
}
