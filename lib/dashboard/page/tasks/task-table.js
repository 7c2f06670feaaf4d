import { serverNow, timeOf } from '../clock.js';
import { h } from '../dom.js';
import { formatDuration } from '../format.js';
import { t } from '../language.js';
import { hashOf } from '../router.js';
import { routeName } from '../routes.js';
import { deadTag, statusBadge } from '../status.js';
import { table } from '../table.js';
import { shown } from '../text.js';

/** @typedef {import('../../api.ts').TaskJson} TaskJson */

/**
 * Tasks as rows, each leading to its page.
 *
 * @param {readonly TaskJson[]} tasks
 * @param {string} caption
 * @param {import('./selection.js').Selection | null} [selection] rows can be ticked
 */
export function taskTable(tasks, caption, selection = null) {
  return table({
    caption,
    rows: tasks,
    key: ({ id }) => id,
    attributes: ({ status, id }) => ({ 'data-status': status, 'data-task': id }),
    columns: [
      ...(selection ? [selectColumn(selection)] : []),
      { label: t('tasks.task'), kind: 'head', cell: taskLink },
      { label: t('tasks.status'), cell: (task) => [statusBadge(task.status), task.dead && deadTag()] },
      {
        label: t('tasks.route'),
        kind: 'name',
        cell: (task) => [
          routeName(task),
          task.publication && h('span', { class: 'tag' }, t('task.publication')),
        ],
      },
      { label: t('tasks.due'), kind: 'number', cell: ({ dueAt }) => timeOf(dueAt) },
      { label: t('tasks.ran'), kind: 'number', cell: ranFor },
      {
        label: t('tasks.message'),
        kind: 'wide',
        cell: ({ message }) => (message === null ? null : shown(message.text, 160)),
      },
      { label: t('tasks.keyTenant'), kind: 'name', cell: keyAndTenant },
    ],
  });
}

/**
 * @param {import('./selection.js').Selection} selection
 * @returns {import('../table.js').Column<TaskJson>}
 */
function selectColumn(selection) {
  return { label: t('selection.select'), kind: 'select', cell: (task) => selection.box(task) };
}

/** @param {TaskJson} task */
function taskLink({ id, firstAttemptId, attempt }) {
  return [
    h('a', { href: hashOf('task', { id: firstAttemptId }), class: 'id' }, firstAttemptId),
    id !== firstAttemptId &&
      h('span', { class: 'muted small nowrap' }, ` ${t('task.attemptShort', { attempt, id })}`),
  ];
}

/**
 * How long it ran, or has been running.
 *
 * @param {TaskJson} task
 */
export function ranFor({ startedAt, finishedAt, status }) {
  if (startedAt === null) return null;
  if (finishedAt !== null) return formatDuration(Math.max(0, Date.parse(finishedAt) - Date.parse(startedAt)));
  if (status !== 'processing') return null;
  return t('tasks.soFar', { duration: formatDuration(Math.max(0, serverNow() - Date.parse(startedAt))) });
}

/** @param {TaskJson} task */
function keyAndTenant({ externalKey, tenant }) {
  if (externalKey === null && tenant === null) return null;
  return [
    externalKey !== null && shown(externalKey, 48),
    externalKey !== null && tenant !== null && ' · ',
    tenant !== null && h('span', { class: 'muted' }, shown(tenant, 32)),
  ];
}
