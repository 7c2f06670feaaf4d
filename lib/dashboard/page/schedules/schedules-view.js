import { read } from '../api-client.js';
import { ageOf } from '../clock.js';
import { h } from '../dom.js';
import { fill } from '../fill.js';
import { formatCount, formatDuration } from '../format.js';
import { icon } from '../icons.js';
import { t } from '../language.js';
import { repeat } from '../repeat.js';
import { routeName, tasksHash } from '../routes.js';
import { attempt, failure, loading, nothing } from '../states.js';
import { table } from '../table.js';
import { shown } from '../text.js';
import { scheduleButtons } from './schedule-buttons.js';

/** @typedef {import('../../api.ts').ScheduleJson} Schedule */
/** @typedef {import('../../api.ts').SchedulesJson} Schedules */

const refreshEveryMs = 10_000;

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
export function showSchedules({ main, info, signal }) {
  /** @type {readonly Schedule[] | null} */
  let schedules = null;
  const search = h('input', {
    id: 'schedule-search',
    type: 'search',
    oninput: () => render(),
    autocomplete: 'off',
  });
  const problem = h('div');
  const list = h('div', { class: 'results' });
  fill(
    main,
    h(
      'div',
      { class: 'heading' },
      h('h1', { tabindex: '-1' }, t('nav.schedules')),
      h('div', { class: 'go-to' }, h('label', { for: search.id }, t('schedules.search')), search),
    ),
    problem,
    list,
  );
  fill(list, loading());
  void load();
  repeat(load, refreshEveryMs, signal);

  async function load() {
    await attempt(
      async () => {
        /** @type {Schedules} */
        const answer = await read('schedules', null, signal);
        ({ schedules } = answer);
        fill(problem);
        render();
      },
      (error) => {
        if (!schedules) fill(list);
        fill(
          problem,
          failure(error, () => void load()),
        );
      },
    );
  }

  function render() {
    if (!schedules) return;
    const words = search.value.trim().toLowerCase();
    const found = schedules.filter(({ id, topic }) =>
      [id, topic ?? ''].some((text) => text.toLowerCase().includes(words)),
    );
    if (schedules.length === 0) fill(list, nothing(t('schedules.none'), t('schedules.none.hint')));
    else if (found.length === 0) fill(list, nothing(t('schedules.noMatch'), t('schedules.noMatch.hint')));
    else {
      const more = found.length - mostShown;
      fill(
        list,
        scheduleTable(found.slice(0, mostShown)),
        more > 0 && h('p', { class: 'muted' }, t('schedules.more', { count: formatCount(more) })),
      );
    }
  }

  /** @param {readonly Schedule[]} rows */
  function scheduleTable(rows) {
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
