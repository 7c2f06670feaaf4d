import { fill } from './fill.js';
import { h } from './dom.js';
import { formatCount } from './format.js';
import { t } from './language.js';

// Text of the table comes from whoever may insert. It is shown as text only, isolated from the direction of what is
// around it, and characters that cannot be seen or that turn the direction are written out.

const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** So much of a text is shown until more is asked for. */
const firstLook = 2000;

/** More than this at once would make the page slow. */
const nextLook = 100_000;

/**
 * The text with control and format characters written out as `\u202e`; line breaks and tabs stay.
 *
 * @param {string} text
 */
export function visibleText(text) {
  return text.replace(hidden, (character) =>
    character === '\n' || character === '\t' ? character : escaped(character),
  );
}

/**
 * The same in one line.
 *
 * @param {string} text
 */
export function visibleLine(text) {
  return visibleText(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t');
}

/** @param {string} character */
function escaped(character) {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

/**
 * A short text of the server within a line: a name, a key. What is too long is cut; the title has more of it.
 *
 * @param {string} text
 * @param {number} [most] characters
 */
export function shown(text, most = 120) {
  if (text === '') return h('span', { class: 'muted' }, t('text.empty'));
  if (text.trim() === '') return h('bdi', { class: 'text' }, `"${visibleLine(text.slice(0, most))}"`);
  if (text.length <= most) return h('bdi', { class: 'text' }, visibleLine(text));
  return h(
    'bdi',
    { class: 'text', title: visibleLine(text.slice(0, 1000)) },
    `${visibleLine(text.slice(0, most))}…`,
  );
}

/**
 * A text of any length in a block of its own: the first of it, and a button that shows more.
 *
 * @param {import('../api.ts').TextJson} text
 * @param {string} [key] the same for the same text: then it stays as far open as it was
 */
export function longText({ text, length }, key = '') {
  const pre = h('pre', { class: 'text', tabindex: '0', dir: 'auto' });
  const below = h('div');
  let upTo = 0;
  showMore(firstLook);
  return h(
    'div',
    { class: 'long-text', 'data-own': `${key}:${String(length)}:${text.slice(0, 60)}` },
    pre,
    below,
  );

  /** @param {number} characters */
  function showMore(characters) {
    const end = endOfPart(text, upTo + characters);
    // A block for each part: what is out of sight is not laid out again.
    pre.append(h('span', { class: 'part' }, visibleText(text.slice(upTo, end))));
    upTo = end;
    const rest = text.length - upTo;
    const cut = length - text.length;
    fill(
      below,
      rest > 0 &&
        h(
          'button',
          { type: 'button', class: 'link', 'data-action': 'show-all', onclick: () => showMore(nextLook) },
          t(rest > nextLook ? 'text.showMore' : 'text.showAll', { rest: formatCount(rest) }),
        ),
      rest <= 0 && cut > 0 && h('p', { class: 'muted' }, t('text.cut', { length: formatCount(length) })),
    );
  }
}

/**
 * Where a part of about that length ends: at the end of a line where one is near.
 *
 * @param {string} text
 * @param {number} end
 */
function endOfPart(text, end) {
  if (text.length <= end + firstLook) return text.length;
  const line = text.lastIndexOf('\n', end) + 1;
  return line > end - firstLook / 2 ? line : end;
}
