import { h } from './dom.js';
import { icon } from './icons.js';
import { t } from './language.js';

/** @typedef {import('../api.ts').TaskJson} TaskJson */

/** Every status, in the order in which a task goes through them. */
export const statuses = /** @type {const} */ (['scheduled', 'pending', 'processing', 'succeeded', 'failed']);

/**
 * A status in words, with a colour and a sign of its own.
 *
 * @param {TaskJson['status']} status
 */
export function statusBadge(status) {
  return h('span', { class: `badge status-${status}` }, icon(status), t(`status.${status}`));
}

/** What marks a task of a dead chain. */
export function deadTag() {
  return h('span', { class: 'tag tag-dead', title: t('task.deadHint') }, t('task.dead'));
}

/**
 * Whether anything may still happen with the task by itself.
 *
 * @param {TaskJson} task
 */
export function isUnderWay(task) {
  return task.finishedAt === null || (task.nextAttemptAt !== null && !task.retried);
}
