import { act, Refusal } from '../api-client.js';
import { ask, cancelButton, openDialog } from '../dialog.js';
import { h } from '../dom.js';
import { phrase, t } from '../language.js';
import { hashOf } from '../router.js';
import { announce } from '../shell.js';
import { shown } from '../text.js';
import { setActive } from './activate.js';

/** @typedef {import('../../api.ts').SubscriptionJson} Subscription */

/**
 * Removes a subscription, after asking. One that a handler declares would come back at the next start: it is deactivated
 * instead.
 *
 * @param {Subscription} subscription
 * @param {boolean} canEdit it may be deactivated here
 * @param {() => unknown} afterwards when it was deactivated
 */
export function removeButton(subscription, canEdit, afterwards) {
  const { id, active } = subscription;
  return h(
    'button',
    {
      type: 'button',
      class: 'danger-quiet',
      'data-action': 'remove-subscription',
      'data-key': 'remove',
      onclick: () => (subscription.declared ? openDeclared() : openRemove()),
    },
    t('action.remove-subscription'),
  );

  function openRemove() {
    const dialog = ask({
      title: t('remove.title'),
      body: h('p', null, phrase('remove.body', { subscription: shown(id) })),
      confirm: t('action.remove-subscription'),
      isDangerous: true,
      run: async (signal) => {
        try {
          await act('remove-subscription', { id }, signal);
        } catch (error) {
          if (!(error instanceof Refusal && error.code === 'SUBSCRIPTION_DECLARED')) throw error;
          // A handler that declares it was started meanwhile.
          dialog.close();
          openDeclared();
          return;
        }
        announce(t('remove.done'));
        location.hash = hashOf('subscriptions');
      },
    });
  }

  function openDeclared() {
    const title = t('remove.title');
    const body = h('p', null, phrase('remove.declared', { subscription: shown(id) }));
    if (!canEdit || !active) {
      openDialog(title, ({ close }) => [body, h('div', { class: 'dialog-buttons' }, cancelButton(close))]);
      return;
    }
    ask({
      title,
      body,
      confirm: t('action.deactivate'),
      isDangerous: true,
      run: async (signal) => {
        await setActive(id, false, signal);
        void afterwards();
      },
    });
  }
}
