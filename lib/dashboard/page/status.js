import { h } from './dom.js';
import { icon } from './icons.js';
import { t } from './language.js';
import { shown } from './text.js';

/** @typedef {import('../api.ts').TaskJson} TaskJson */

/** Every status, in the order in which a task goes through them. */
export const statuses = /** @type {const} */ ([
  'scheduled',
  'pending',
  'processing',
  'retrying',
  'succeeded',
  'failed',
  'cancelled',
]);

/** @typedef {(typeof statuses)[number]} KnownStatus */

/**
 * A status in words, with a colour and a sign of its own; a word of another program as it stands in the table.
 *
 * @param {TaskJson['status']} status
 */
export function statusBadge(status) {
  return isKnown(status)
    ? h('span', { class: `badge status-${status}` }, icon(status), t(`status.${status}`))
    : h('span', { class: 'badge' }, icon('warning'), shown(status, 40));
}

/**
 * @param {string} status
 * @returns {status is KnownStatus}
 */
function isKnown(status) {
  return statuses.some((one) => one === status);
}

/**
 * The class of what has the colour of a status.
 *
 * @param {TaskJson['status']} status
 */
export function statusClass(status) {
  return isKnown(status) ? `status-${status}` : '';
}

/** What marks a task of a dead chain. */
export function deadTag() {
  return h('span', { class: 'tag tag-dead', title: t('task.deadHint') }, t('task.dead'));
}

/**
 * Whether anything may still happen with the task without anybody's doing.
 *
 * @param {TaskJson} task
 */
export function isUnderWay(task) {
  return task.finishedAt === null || (task.nextAttemptAt !== null && !task.retried);
}
