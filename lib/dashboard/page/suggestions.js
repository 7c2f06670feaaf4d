import { read } from './api-client.js';
import { h } from './dom.js';
import { fill } from './fill.js';
import { attempt } from './states.js';

/** @typedef {import('./../api.ts').RouteJson} RouteJson */

const mostOptions = 200;

/**
 * Topics and subscriptions that the queue knows, for fields in which one is typed: those with tasks, those of the last day, and
 * those that are subscribed to.
 *
 * @param {string} prefix of the ids of the lists: `<prefix>-topics`, `<prefix>-subscriptions`
 * @param {import('../api.ts').InfoJson} info
 * @param {AbortSignal} [signal]
 */
export function suggestions(prefix, { publications }, signal = new AbortController().signal) {
  const topics = h('datalist', { id: `${prefix}-topics` });
  const subscriptions = h('datalist', { id: `${prefix}-subscriptions` });
  let isAsked = false;
  return { topics, subscriptions, load };

  /** Once, when somebody is about to type. */
  async function load() {
    if (isAsked) return;
    isAsked = true;
    await attempt(ask, () => {
      // They help, and are not needed: asked for again the next time.
      isAsked = false;
    });
  }

  async function ask() {
    /** @type {[import('./../api.ts').HistoryJson, import('./../api.ts').CountsJson, import('./../api.ts').SubscriptionsJson | null]} */
    const [{ routes }, { counts }, subscribed] = await Promise.all([
      read('history', new URLSearchParams({ range: 'day' }), signal),
      read('counts', null, signal),
      publications ? read('subscriptions', null, signal) : null,
    ]);
    const known = subscribed?.subscriptions ?? [];
    const all = [...routes, ...counts, ...known.map(({ id, topic }) => ({ topic, subscriptionId: id }))];
    offer(
      topics,
      all.map(({ topic }) => topic),
    );
    offer(
      subscriptions,
      all.map(({ subscriptionId }) => subscriptionId),
    );
  }
}

/**
 * @param {HTMLDataListElement} list
 * @param {readonly (string | null)[]} names
 */
function offer(list, names) {
  const given = names.flatMap((name) => (name === null || name === '' ? [] : [name]));
  const known = [...new Set(given)].sort((a, b) => a.localeCompare(b));
  fill(
    list,
    known.slice(0, mostOptions).map((value) => h('option', { value })),
  );
}
