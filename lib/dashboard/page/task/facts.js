import { ageOf, timeOf } from '../clock.js';
import { h } from '../dom.js';
import { formatDuration, formatNumber } from '../format.js';
import { t } from '../language.js';
import { hashOf } from '../router.js';
import { routeName, tasksHash } from '../routes.js';
import { deadTag, statusBadge } from '../status.js';
import { ranFor } from '../tasks/task-table.js';
import { shown } from '../text.js';

/** @typedef {import('../../api.ts').TaskDetailsJson} TaskDetails */
/** @typedef {import('../../api.ts').TaskJson} TaskJson */
/** @typedef {import('../dom.js').Child} Child */

/**
 * How the task stands, in a line and in its facts.
 *
 * @param {TaskDetails} details
 */
export function taskHeader({ current, attemptsTotal }) {
  return [
    h(
      'p',
      { class: 'standing', 'data-status': current.status },
      statusBadge(current.status),
      current.dead && deadTag(),
      current.publication && h('span', { class: 'tag' }, t('task.publication')),
      h('a', { href: tasksHash(current) }, routeName(current)),
      h('span', { class: 'muted' }, standingOf(current)),
    ),
    current.unreadable.length > 0 &&
      h('p', { class: 'muted' }, t('task.unreadable', { columns: current.unreadable.join(', ') })),
    h(
      'dl',
      { class: 'facts' },
      facts(current, attemptsTotal).map(([name, value]) =>
        h('div', null, h('dt', null, name), h('dd', null, value)),
      ),
    ),
  ];
}

/**
 * @param {TaskJson} task
 * @returns {Child}
 */
function standingOf(task) {
  if (task.status === 'processing' && task.startedAt !== null)
    return [t('task.started'), ' ', ageOf(task.startedAt)];
  if (task.finishedAt === null) return [t('task.due'), ' ', ageOf(task.dueAt)];
  if (task.nextAttemptAt !== null && !task.retried)
    return [t('task.nextAttempt'), ' ', ageOf(task.nextAttemptAt)];
  if (task.exhausted) return [t('task.exhausted'), ' ', ageOf(task.finishedAt)];
  return [t('task.ended'), ' ', ageOf(task.finishedAt)];
}

/**
 * @param {TaskJson} task
 * @param {number} attempts
 * @returns {[string, Child][]}
 */
function facts(task, attempts) {
  /** @type {[string, Child | null][]} */
  const all = [
    [t('fact.attempts'), formatNumber(attempts)],
    [t('fact.key'), linked('key', task.externalKey)],
    [t('fact.tenant'), linked('tenant', task.tenant)],
    [t('fact.group'), linked('group', task.group)],
    [t('fact.priority'), formatNumber(task.priority)],
    [t('fact.firstDue'), timeOf(task.firstDueAt)],
    [t('fact.due'), timeOf(task.dueAt)],
    [t('fact.waited'), waitedFor(task)],
    [t('fact.ran'), ranFor(task)],
    [t('fact.cancelledBy'), task.cancelledBy === null ? null : shown(task.cancelledBy)],
    [t('fact.origin'), task.origin === null ? null : shown(task.origin)],
    [t('fact.destination'), task.destination === null ? null : shown(task.destination)],
    [
      t('fact.subscription'),
      task.subscriptionId === null
        ? null
        : h('a', { href: hashOf('subscription', { id: task.subscriptionId }) }, shown(task.subscriptionId)),
    ],
    [
      t('fact.publication'),
      task.publicationId === null
        ? null
        : h('a', { href: hashOf('task', { id: task.publicationId }) }, task.publicationId),
    ],
  ];
  return all.filter(([, value]) => value !== null);
}

/**
 * @param {'key' | 'tenant' | 'group'} filter
 * @param {string | null} value
 */
function linked(filter, value) {
  return value === null || value === ''
    ? null
    : h('a', { href: hashOf('tasks', { params: { [filter]: value } }) }, shown(value, 200));
}

/**
 * From due to started.
 *
 * @param {TaskJson} task
 */
export function waitedFor({ dueAt, startedAt }) {
  return startedAt === null ? null : formatDuration(Math.max(0, Date.parse(startedAt) - Date.parse(dueAt)));
}
