import { act } from '../api-client.js';
import { ask } from '../dialog.js';
import { h } from '../dom.js';
import { field } from '../form-field.js';
import { formatCount } from '../format.js';
import { t } from '../language.js';
import { hashOf } from '../router.js';
import { announce } from '../shell.js';
import { openRetryEdited } from './retry-edited.js';

/** @typedef {import('../../api.ts').TaskDetailsJson} TaskDetails */

/** @typedef {'retry' | 'run-now' | 'cancel' | 'bury' | 'delete'} TaskAction */

/** In the order in which they are offered: harmless ones first. */
const known = /** @type {const} */ (['retry', 'retry-edited', 'run-now', 'cancel', 'bury', 'delete']);

/** Actions that end something, and say why. @type {readonly TaskAction[]} */
const withReason = ['cancel', 'bury'];

/** @type {readonly string[]} */
const dangerous = [...withReason, 'delete'];

/**
 * What can be done with the task as it stands, each after asking.
 *
 * @param {TaskDetails} details
 * @param {() => void} afterwards
 */
export function actionButtons({ current, actions }, afterwards) {
  const offered = known.filter((action) => actions.includes(action));
  if (offered.length === 0) return null;
  return h(
    'div',
    { class: 'buttons', role: 'group', 'aria-label': t('table.actions') },
    offered.map((action) =>
      h(
        'button',
        {
          type: 'button',
          class: dangerous.includes(action) ? 'danger-quiet' : null,
          'data-action': action,
          'data-key': action,
          onclick: () => {
            if (action === 'retry-edited') openRetryEdited(current.firstAttemptId, afterwards);
            else confirm(action, current.firstAttemptId, afterwards);
          },
        },
        t(`action.${action}`),
      ),
    ),
  );
}

/**
 * @param {TaskAction} action
 * @param {string} id
 * @param {() => void} afterwards
 */
function confirm(action, id, afterwards) {
  const reason = withReason.includes(action)
    ? h('textarea', { id: 'action-reason', rows: 2, maxlength: 1000 })
    : null;
  ask({
    title: t(`${action}.title`, { id }),
    body: [h('p', null, t(`${action}.body`)), reason && field(t('action.reason'), reason)],
    confirm: t(`action.${action}`),
    isDangerous: dangerous.includes(action),
    run: async (signal) => {
      const text = reason?.value.trim() ?? '';
      /** @type {{ id?: string, attempts?: number, stopping?: boolean }} */
      const answer = await act(action, { id, ...(text === '' ? {} : { reason: text }) }, signal);
      const { attempts = 0 } = answer;
      const done =
        action === 'cancel' && answer.stopping ? 'cancel.stopping' : /** @type {const} */ (`${action}.done`);
      announce(t(done, { n: attempts, count: formatCount(attempts) }));
      // A dead task is another one: it is shown, as that is what there is to look at now.
      if (action === 'bury' && answer.id !== undefined) location.hash = hashOf('task', { id: answer.id });
      else if (action === 'delete') location.hash = hashOf('tasks');
      else afterwards();
    },
  });
}
