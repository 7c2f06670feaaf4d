import { isAbort } from './api-client.js';
import { h } from './dom.js';
import { fill } from './fill.js';
import { t } from './language.js';
import { wordsOf } from './states.js';

/** @typedef {import('./dom.js').Child} Child */

let count = 0;

/**
 * @typedef {object} Question
 * @property {Child} body
 * @property {string} confirm label of the button that does it
 * @property {boolean} [isDangerous]
 * @property {(signal: AbortSignal) => Promise<void>} run the signal ends when the dialog is closed
 */

/** @typedef {{ readonly signal: AbortSignal, readonly close: () => void }} OpenDialog */

/**
 * Asks before something is done, and does it. When that fails the dialog stays, with what was typed and the reason.
 *
 * @param {Question & { readonly title: string }} question
 */
export function ask({ title, ...question }) {
  return openDialog(title, (dialog) => questionForm(question, dialog));
}

/**
 * What {@link ask} shows, for a dialog that is open already.
 *
 * @param {Question} question
 * @param {OpenDialog} dialog
 */
export function questionForm({ body, confirm, isDangerous = false, run }, { signal, close }) {
  const problem = h('div', { 'aria-live': 'assertive' });
  const button = h(
    'button',
    { type: 'submit', class: isDangerous ? 'danger' : 'primary', 'data-action': 'confirm' },
    confirm,
  );
  return h(
    'form',
    {
      method: 'dialog',
      onsubmit: (event) => {
        event.preventDefault();
        if (button.getAttribute('aria-disabled') !== 'true') void submit();
      },
    },
    h('div', { class: 'dialog-body' }, body),
    problem,
    h('div', { class: 'dialog-buttons' }, cancelButton(close), button),
  );

  async function submit() {
    fill(problem);
    button.setAttribute('aria-disabled', 'true');
    try {
      await run(signal);
      close();
    } catch (error) {
      if (!isAbort(error)) fill(problem, h('p', { class: 'problem-text text' }, wordsOf(error)));
    } finally {
      button.removeAttribute('aria-disabled');
    }
  }
}

/** @param {() => void} close */
export function cancelButton(close) {
  return h('button', { type: 'button', 'data-action': 'close', onclick: close }, t('action.close'));
}

/**
 * A modal dialog with what `content` makes; focus goes back to where it was when it is closed.
 *
 * @param {string} title
 * @param {(dialog: OpenDialog) => Child} content
 */
export function openDialog(title, content) {
  const closing = new AbortController();
  count += 1;
  const id = `dialog-title-${String(count)}`;
  const opener = document.activeElement;
  const dialog = h('dialog', {
    'aria-labelledby': id,
    onclose: () => {
      closing.abort();
      dialog.remove();
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
      // What was done took the button away.
      else document.querySelector('h1')?.focus();
    },
  });
  dialog.append(
    h('h2', { id }, title),
    h('div', null, content({ signal: closing.signal, close: () => dialog.close() })),
  );
  document.body.append(dialog);
  // The place behind may be left by the browser's back button: a dialog about it must not stay.
  addEventListener('hashchange', () => dialog.close(), { signal: closing.signal });
  dialog.showModal();
  return dialog;
}
