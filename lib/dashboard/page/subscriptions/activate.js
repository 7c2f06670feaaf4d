import { act } from '../api-client.js';
import { ask } from '../dialog.js';
import { h } from '../dom.js';
import { phrase, t } from '../language.js';
import { announce } from '../shell.js';
import { shown } from '../text.js';

/**
 * Switches a subscription off, or on again.
 *
 * @param {import('../../api.ts').SubscriptionJson} subscription
 * @param {() => unknown} afterwards
 */
export function activateButton({ id, active }, afterwards) {
  const verb = active ? 'deactivate' : 'activate';
  return h(
    'button',
    {
      type: 'button',
      class: active ? 'danger-quiet' : 'primary',
      'data-action': verb,
      'data-key': verb,
      onclick: () =>
        ask({
          title: t(`${verb}.title`),
          body: h('p', null, phrase(`${verb}.body`, { subscription: shown(id) })),
          confirm: t(`action.${verb}`),
          isDangerous: active,
          run: async (signal) => {
            await setActive(id, !active, signal);
            void afterwards();
          },
        }),
    },
    t(`action.${verb}`),
  );
}

/**
 * Does so, and says it.
 *
 * @param {string} id
 * @param {boolean} isActive from now on
 * @param {AbortSignal} signal
 */
export async function setActive(id, isActive, signal) {
  await act('edit-subscription', { id, active: isActive }, signal);
  announce(t(isActive ? 'activate.done' : 'deactivate.done'));
}
