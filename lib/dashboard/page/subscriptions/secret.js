import { act } from '../api-client.js';
import { cancelButton, openDialog, questionForm } from '../dialog.js';
import { h } from '../dom.js';
import { phrase, t } from '../language.js';
import { announce } from '../shell.js';
import { shown } from '../text.js';

/**
 * Makes a signing secret, after asking, and shows it this once.
 *
 * @param {string} id
 */
export function secretButton(id) {
  return h(
    'button',
    { type: 'button', 'data-action': 'create-secret', 'data-key': 'secret', onclick: openQuestion },
    t('action.create-secret'),
  );

  function openQuestion() {
    openDialog(t('secret.title'), (dialog) =>
      questionForm(
        {
          body: h('p', null, phrase('secret.body', { subscription: shown(id) })),
          confirm: t('secret.confirm'),
          run: async (signal) => {
            /** @type {{ readonly secret: string }} */
            const { secret } = await act('create-secret', { id }, signal);
            dialog.close();
            openSecret(secret);
          },
        },
        dialog,
      ),
    );
  }
}

/** @param {string} secret */
function openSecret(secret) {
  const field = h('input', {
    id: 'new-secret',
    type: 'text',
    readonly: true,
    size: 60,
    value: secret,
    autocomplete: 'off',
    spellcheck: 'false',
    onfocus: () => field.select(),
  });
  openDialog(t('secret.title'), ({ close }) => [
    h(
      'div',
      { class: 'dialog-body' },
      h('div', { class: 'field' }, h('label', { for: field.id }, t('secret.once')), field),
      h('p', { class: 'muted' }, t('secret.others')),
    ),
    h(
      'div',
      { class: 'dialog-buttons' },
      cancelButton(close),
      h(
        'button',
        { type: 'button', class: 'primary', 'data-action': 'copy', onclick: () => void copy() },
        t('payload.copy'),
      ),
    ),
  ]);

  async function copy() {
    field.focus();
    try {
      await navigator.clipboard.writeText(secret);
      announce(t('payload.copied'));
    } catch {
      // Without a secure context there is no clipboard: the text is selected.
      announce(t('payload.copyFailed'));
    }
  }
}
