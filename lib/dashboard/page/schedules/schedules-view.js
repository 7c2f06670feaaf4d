import { ageOf } from '../clock.js';
import { h } from '../dom.js';
import { formatCount, formatDuration } from '../format.js';
import { icon } from '../icons.js';
import { t } from '../language.js';
import { routeName, tasksHash } from '../routes.js';
import { showSearchedList } from '../searched-list.js';
import { table } from '../table.js';
import { shown } from '../text.js';
import { scheduleButtons } from './schedule-buttons.js';

/** @typedef {import('../../api.ts').ScheduleJson} Schedule */

/** There may be thousands: the others are found by a search. */
const mostShown = 200;

/** How the state of each is drawn. @type {Readonly<Record<Schedule['status'], readonly [string, import('../icons.js').IconName]>>} */
const signs = {
  active: ['condition-active', 'succeeded'],
  paused: ['condition-paused', 'pause'],
  undeclared: ['condition-failing', 'warning'],
  ended: ['status-cancelled', 'cancelled'],
};

/**
 * What recurs, when it ran last and runs next, and what it has missed.
 *
 * @type {import('../main.js').View}
 */
export function showSchedules(context) {
  showSearchedList(context, {
    name: 'schedules',
    searchId: 'schedule-search',
    words: (/** @type {Schedule} */ { id, topic }) => [id, topic],
    show: (found, load) => {
      const more = found.length - mostShown;
      return [
        scheduleTable(found.slice(0, mostShown), context.info, load),
        more > 0 && h('p', { class: 'muted' }, t('schedules.more', { count: formatCount(more) })),
      ];
    },
  });
}

/**
 * @param {readonly Schedule[]} rows
 * @param {import('../main.js').InfoJson} info
 * @param {() => unknown} load
 */
function scheduleTable(rows, info, load) {
  const may = info.actions.some((action) => action === 'run-schedule' || action === 'pause-schedule');
  return table({
    caption: t('schedules.caption'),
    rows,
    key: ({ id }) => id,
    attributes: ({ id, status }) => ({ 'data-schedule': id, 'data-status': status }),
    columns: [
      { label: t('schedules.schedule'), kind: 'head', cell: ({ id }) => shown(id) },
      { label: t('fact.topic'), kind: 'name', cell: ({ topic }) => topicLink(topic) },
      { label: t('schedules.when'), kind: 'name', cell: when },
      { label: t('schedules.state'), cell: ({ status }) => badge(status) },
      {
        label: t('schedules.next'),
        cell: ({ status, nextAt }) => (status === 'active' && nextAt !== null ? ageOf(nextAt) : '–'),
      },
      {
        label: t('schedules.last'),
        cell: ({ lastAt }) => (lastAt === null ? t('endpoint.never') : ageOf(lastAt)),
      },
      { label: t('schedules.missed'), kind: 'number', cell: ({ missed }) => formatCount(missed) },
      ...(may
        ? [
            {
              label: t('table.actions'),
              kind: /** @type {const} */ ('actions'),
              cell: (/** @type {Schedule} */ schedule) => scheduleButtons(schedule, info, load),
            },
          ]
        : []),
    ],
  });
}

/** @param {string | null} topic */
function topicLink(topic) {
  const route = { topic, subscriptionId: null };
  return h('a', { href: tasksHash(route) }, routeName(route));
}

/** @param {Schedule} schedule */
function when({ cron, every, timezone }) {
  if (cron === null) return t('schedules.every', { duration: formatDuration(every ?? 0) });
  return [h('code', null, shown(cron, 80)), ' ', h('span', { class: 'muted' }, shown(timezone, 64))];
}

/** @param {Schedule['status']} status */
function badge(status) {
  const [look, sign] = signs[status];
  return h(
    'span',
    { class: `badge ${look}`, title: t(`schedule.${status}.hint`) },
    icon(sign),
    t(`schedule.${status}`),
  );
}
