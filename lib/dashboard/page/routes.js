import { h } from './dom.js';
import { t } from './language.js';
import { hashOf } from './router.js';
import { shown, visibleLine } from './text.js';

/** @typedef {import('../api.ts').RouteJson} RouteJson */

/**
 * The same for the same topic and subscription. A subscription has one topic: that is not part of it.
 *
 * @param {RouteJson} route
 */
export function routeKey({ topic, subscriptionId }) {
  return JSON.stringify(subscriptionId === null ? [topic] : [null, subscriptionId]);
}

/**
 * A topic, or a topic and the subscription it is delivered to.
 *
 * @param {RouteJson} route
 */
export function routeName({ topic, subscriptionId }) {
  const topicName = topic === null ? h('span', { class: 'muted' }, t('route.noTopic')) : shown(topic, 64);
  if (subscriptionId === null) return h('span', { class: 'route' }, topicName);
  if (topic === null) return h('span', { class: 'route' }, shown(subscriptionId, 64));
  return h(
    'span',
    { class: 'route' },
    topicName,
    h('span', { class: 'muted', 'aria-hidden': 'true' }, ' → '),
    h('span', { class: 'unseen' }, ` ${t('route.deliveredTo')} `),
    shown(subscriptionId, 64),
  );
}

/**
 * The same as plain text, for names of buttons and for charts.
 *
 * @param {RouteJson} route
 */
export function routeText({ topic, subscriptionId }) {
  const topicText = topic === null ? t('route.noTopic') : visibleLine(topic);
  if (subscriptionId === null) return topicText;
  return topic === null ? visibleLine(subscriptionId) : `${topicText} → ${visibleLine(subscriptionId)}`;
}

/**
 * What asks the server for this route alone.
 *
 * @param {RouteJson} route
 * @returns {Record<string, string>}
 */
export function routeParams({ topic, subscriptionId }) {
  return subscriptionId === null ? { topic: topic ?? '' } : { subscription: subscriptionId };
}

/**
 * Leads to the tasks of a route.
 *
 * @param {RouteJson} route
 * @param {Readonly<Record<string, string>>} [params]
 */
export function tasksHash(route, params = {}) {
  return hashOf('tasks', { params: { ...routeParams(route), ...params } });
}
