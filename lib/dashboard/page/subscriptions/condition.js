import { serverNow } from '../clock.js';
import { h } from '../dom.js';
import { icon } from '../icons.js';
import { t } from '../language.js';

/** @typedef {import('../../api.ts').SubscriptionJson} Subscription */
/** @typedef {'active' | 'inactive' | 'paused' | 'resting' | 'failing'} Condition */

/** Signs of each, beside the word. @type {Readonly<Record<Condition, import('../icons.js').IconName>>} */
const signs = {
  active: 'succeeded',
  inactive: 'failed',
  paused: 'pause',
  resting: 'warning',
  failing: 'warning',
};

/**
 * How a subscription stands: the worst that is known of it.
 *
 * @param {Subscription} subscription
 */
export function conditionOf(subscription) {
  const name = nameOf(subscription);
  return {
    name,
    badge: h('span', { class: `badge condition-${name}` }, icon(signs[name]), t(`condition.${name}`)),
  };
}

/**
 * @param {Subscription} subscription
 * @returns {Condition}
 */
function nameOf({ active, paused, endpoint }) {
  if (!active) return 'inactive';
  if (paused) return 'paused';
  if (endpoint?.restsUntil && Date.parse(endpoint.restsUntil) > serverNow()) return 'resting';
  if (endpoint?.failingSince) return 'failing';
  return 'active';
}
