import { isAbort } from './api-client.js';
import { h } from './dom.js';
import { t } from './language.js';
import { visibleText } from './text.js';

/** Something is on its way. */
export function loading() {
  return h('p', { class: 'state loading', role: 'status' }, t('state.loading'));
}

/**
 * There is nothing, what that means, and what may be done.
 *
 * @param {string} title
 * @param {...import('./dom.js').Child} hint
 */
export function nothing(title, ...hint) {
  return h(
    'div',
    { class: 'state' },
    h('p', { class: 'state-title' }, title),
    h('p', { class: 'muted' }, hint),
  );
}

/**
 * What could not be done, in the server's words.
 *
 * @param {unknown} error
 * @param {(() => void) | null} [again]
 */
export function failure(error, again = null) {
  return h(
    'div',
    { class: 'state failure', role: 'alert' },
    h('p', { class: 'state-title' }, t('state.failed')),
    h('p', { class: 'text' }, wordsOf(error)),
    again && h('button', { type: 'button', 'data-action': 'again', onclick: again }, t('action.again')),
  );
}

/**
 * @param {unknown} error
 * @returns {string}
 */
export function wordsOf(error) {
  return visibleText((error instanceof Error ? error.message : String(error)).slice(0, 2000));
}

/**
 * Runs what may fail, and shows it when it does; nothing when the view was left meanwhile.
 *
 * @param {() => Promise<void>} run
 * @param {(error: unknown) => void} onFailure
 */
export async function attempt(run, onFailure) {
  try {
    await run();
  } catch (error) {
    if (!isAbort(error)) onFailure(error);
  }
}
