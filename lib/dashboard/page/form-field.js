import { h } from './dom.js';

/**
 * A field of a form with its label above and, where it needs one, a hint below.
 *
 * @param {string} label
 * @param {HTMLInputElement | HTMLTextAreaElement} input with an id
 * @param {string} [hint]
 */
export function field(label, input, hint) {
  if (hint !== undefined) input.setAttribute('aria-describedby', `${input.id}-hint`);
  return h(
    'div',
    { class: 'field' },
    h('label', { for: input.id }, label),
    input,
    hint !== undefined && h('p', { class: 'muted small', id: `${input.id}-hint` }, hint),
  );
}

/**
 * A box to tick with its label behind.
 *
 * @param {string} label
 * @param {HTMLInputElement} input with an id
 */
export function check(label, input) {
  return h('span', { class: 'check' }, input, h('label', { for: input.id }, label));
}

/**
 * What was typed; undefined, so that it is not sent, where that is nothing.
 *
 * @param {HTMLInputElement | HTMLTextAreaElement} input
 */
export function typed(input) {
  const text = input.value.trim();
  return text === '' ? undefined : text;
}
