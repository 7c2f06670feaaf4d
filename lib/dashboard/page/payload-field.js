import { h } from './dom.js';
import { t } from './language.js';
import { visibleLine } from './text.js';

/**
 * A payload to be typed, which says what it will be taken for: JSON, or text.
 *
 * @param {string} id
 * @param {string} [text] what is in it at first
 * @param {'payloadField.empty' | 'payloadField.emptyText'} [whenEmpty] what nothing in it means
 */
export function payloadField(id, text = '', whenEmpty = 'payloadField.empty') {
  const input = h('textarea', {
    id,
    class: 'payload-input',
    rows: 8,
    spellcheck: 'false',
    autocomplete: 'off',
    'aria-describedby': `${id}-kind`,
    oninput: () => say(),
  });
  const kind = h('p', { id: `${id}-kind`, class: 'small', role: 'status' });
  input.value = text;
  say();
  return {
    element: h('div', { class: 'field' }, h('label', { for: id }, t('payload.title')), input, kind),
    /** The whole text as it was typed. */
    text: () => input.value,
  };

  function say() {
    const { key, reason } = kindOf(input.value, whenEmpty);
    const words = t(key, { reason });
    // The same words are not said again with every letter.
    if (kind.textContent !== words) kind.textContent = words;
    kind.dataset['kind'] = key.slice(key.indexOf('.') + 1);
  }
}

/**
 * @param {string} text
 * @param {'payloadField.empty' | 'payloadField.emptyText'} whenEmpty
 * @returns {{ readonly key: import('./language.js').MessageKey, readonly reason: string }}
 */
function kindOf(text, whenEmpty) {
  if (text === '') return { key: whenEmpty, reason: '' };
  try {
    JSON.parse(text);
    return { key: 'payloadField.json', reason: '' };
  } catch (error) {
    const isMeant = /^\s*["[{]/.test(text);
    const reason = error instanceof Error ? visibleLine(error.message.slice(0, 200)) : '';
    return { key: isMeant ? 'payloadField.broken' : 'payloadField.text', reason };
  }
}
