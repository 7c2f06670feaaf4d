import { act } from '../api-client.js';
import { ask } from '../dialog.js';
import { h } from '../dom.js';
import { phrase, t } from '../language.js';
import { announce } from '../shell.js';
import { shown, visibleLine } from '../text.js';

/** @typedef {import('../../api.ts').ScheduleJson} Schedule */

/**
 * What this dashboard may do with a schedule, after asking.
 *
 * @param {Schedule} schedule
 * @param {import('../../api.ts').InfoJson} info
 * @param {() => unknown} afterwards
 */
export function scheduleButtons(schedule, { actions }, afterwards) {
  return h('span', { class: 'buttons' }, [
    actions.includes('run-schedule') && runButton(schedule, afterwards),
    actions.includes('pause-schedule') && pauseScheduleButton(schedule, afterwards),
  ]);
}

/**
 * @param {Schedule} schedule
 * @param {() => unknown} afterwards
 */
function runButton({ id }, afterwards) {
  return h(
    'button',
    {
      type: 'button',
      class: 'small',
      'data-action': 'run-schedule',
      'aria-label': t('schedule.run.of', { schedule: visibleLine(id) }),
      onclick: () =>
        ask({
          title: t('schedule.run.title'),
          body: [h('p', null, phrase('schedule.run.body', { schedule: shown(id) }))],
          confirm: t('action.run-now'),
          run: async (signal) => {
            /** @type {{ readonly id: string }} */
            const task = await act('run-schedule', { id }, signal);
            announce(t('insert.done', { id: task.id }));
            void afterwards();
          },
        }),
    },
    t('action.run-now'),
  );
}

/**
 * @param {Schedule} schedule
 * @param {() => unknown} afterwards
 */
function pauseScheduleButton({ id, pausedAt }, afterwards) {
  const verb = pausedAt === null ? 'pause' : 'resume';
  const route = visibleLine(id);
  return h(
    'button',
    {
      type: 'button',
      class: 'small',
      'data-action': verb,
      'aria-label': t(`${verb}.of`, { route }),
      onclick: () =>
        ask({
          title: t(`${verb}.title`),
          body: [h('p', null, phrase(`${verb}.schedule`, { schedule: shown(id) }))],
          confirm: t(`action.${verb}`),
          run: async (signal) => {
            await act('pause-schedule', { id, paused: verb === 'pause' }, signal);
            announce(t(`${verb}.done`, { route }));
            void afterwards();
          },
        }),
    },
    t(`action.${verb}`),
  );
}
