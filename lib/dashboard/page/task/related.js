import { h } from '../dom.js';
import { formatCount } from '../format.js';
import { t } from '../language.js';
import { hashOf } from '../router.js';
import { taskTable } from '../tasks/task-table.js';

/** @typedef {import('../../api.ts').TaskJson} TaskJson */

/** Deliveries that the server tells of; more of them are in the list of tasks. */
const mostDeliveries = 100;

/**
 * What the task came from and what came of it.
 *
 * @param {import('../../api.ts').TaskDetailsJson} details
 */
export function relatedSections({ current, liveTask, deadTasks, publication, deliveries }) {
  return [
    section('live-task', t('related.live'), liveTask ? [liveTask] : []),
    section('dead-tasks', t('related.dead'), deadTasks),
    section('publication', t('related.publication'), publication ? [publication] : []),
    section('deliveries', t(current.publication ? 'related.deliveries' : 'related.siblings'), deliveries),
    deliveries.length >= mostDeliveries &&
      h(
        'p',
        { 'data-key': 'all-deliveries' },
        h(
          'a',
          {
            href: hashOf('tasks', {
              params: { publication: current.publicationId ?? current.firstAttemptId },
            }),
          },
          t('related.all', { count: formatCount(mostDeliveries) }),
        ),
      ),
  ];
}

/**
 * @param {string} name
 * @param {string} title
 * @param {readonly TaskJson[]} tasks
 */
function section(name, title, tasks) {
  if (tasks.length === 0) return null;
  return h(
    'section',
    { 'data-key': name, 'data-related': name, 'aria-labelledby': `${name}-title` },
    h('h2', { id: `${name}-title` }, title),
    taskTable(tasks, title),
  );
}
