import { ageOf, timeOf } from '../clock.js';
import { h } from '../dom.js';
import { formatCount, formatDuration } from '../format.js';
import { t } from '../language.js';
import { shown } from '../text.js';
import { conditionOf } from './condition.js';

/** @typedef {import('../../api.ts').SubscriptionJson} Subscription */
/** @typedef {import('../dom.js').Child} Child */

/**
 * The fields of a subscription, how delivery went in the last hour, and how its endpoint stands.
 *
 * @param {Subscription} subscription
 */
export function subscriptionFacts(subscription) {
  const { endpoint } = subscription;
  const condition = conditionOf(subscription);
  return [
    h(
      'p',
      { class: 'standing', 'data-status': condition.name },
      condition.badge,
      h('span', { class: 'muted' }, t(`condition.${condition.name}.hint`)),
    ),
    h(
      'div',
      { class: 'columns' },
      panel('subscription', t('subscription.fields'), fields(subscription)),
      panel('health', t('subscription.health'), health(subscription)),
      endpoint && panel('endpoint', t('subscription.endpoint'), endpointFacts(endpoint)),
    ),
  ];
}

/**
 * @param {string} name
 * @param {string} title
 * @param {[string, Child | null][]} facts
 */
function panel(name, title, facts) {
  return h(
    'section',
    { class: 'panel', 'aria-labelledby': `${name}-title` },
    h('h2', { id: `${name}-title` }, title),
    h(
      'dl',
      { class: 'facts stacked' },
      facts
        .filter(([, value]) => value !== null)
        .map(([term, value]) => h('div', null, h('dt', null, term), h('dd', null, value))),
    ),
  );
}

/**
 * @param {Subscription} subscription
 * @returns {[string, Child | null][]}
 */
function fields({ topic, tenant, group, url, httpMethod, headers, createdAt }) {
  return [
    [t('fact.topic'), shown(topic)],
    [t('fact.tenant'), tenant === null ? null : shown(tenant)],
    [t('fact.group'), group === null ? null : shown(group)],
    ['URL', url === null ? t('subscriptions.code') : shown(url, 400)],
    [t('subscription.method'), url === null ? null : httpMethod === null ? '–' : shown(httpMethod)],
    [
      t('subscription.headers'),
      headers.length === 0
        ? null
        : [
            headers.map((name, index) => [index > 0 && ', ', shown(name)]),
            h('span', { class: 'muted small' }, ` ${t('subscription.headers.hidden')}`),
          ],
    ],
    [t('subscription.created'), createdAt === null ? null : timeOf(createdAt)],
  ];
}

/**
 * @param {Subscription} subscription
 * @returns {[string, Child | null][]}
 */
function health({ succeeded, failed, buried, waitP95, pending, pendingIsCapped }) {
  return [
    [t('status.succeeded'), formatCount(succeeded)],
    [t('status.failed'), h('span', { class: failed > 0 ? 'bad' : null }, formatCount(failed))],
    [t('routes.buried'), formatCount(buried)],
    [t('tile.wait'), waitP95 === null ? '–' : formatDuration(waitP95)],
    [t('status.pending'), formatCount(pending, pendingIsCapped)],
  ];
}

/**
 * @param {import('../../api.ts').EndpointJson} endpoint
 * @returns {[string, Child | null][]}
 */
function endpointFacts({
  failures,
  failingSince,
  lastSuccessAt,
  restsUntil,
  deactivatedAt,
  deactivatedFor,
  signed,
}) {
  return [
    [t('endpoint.failures'), formatCount(failures)],
    [t('endpoint.failingSince'), failingSince === null ? null : ageOf(failingSince)],
    [t('endpoint.lastSuccess'), lastSuccessAt === null ? t('endpoint.never') : ageOf(lastSuccessAt)],
    [t('endpoint.restsUntil'), restsUntil === null ? null : timeOf(restsUntil)],
    [t('endpoint.deactivated'), deactivatedAt === null ? null : timeOf(deactivatedAt)],
    [t('endpoint.deactivatedFor'), deactivatedFor === null ? null : shown(deactivatedFor, 400)],
    [t('endpoint.signed'), t(signed ? 'endpoint.signed.yes' : 'endpoint.signed.no')],
  ];
}
