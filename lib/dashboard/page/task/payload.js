import { read } from '../api-client.js';
import { h } from '../dom.js';
import { fill } from '../fill.js';
import { formatBytes, formatCount } from '../format.js';
import { jsonTree, WrittenNumber } from '../json-tree.js';
import { t } from '../language.js';
import { announce } from '../shell.js';
import { attempt, failure, loading } from '../states.js';
import { longText } from '../text.js';

/** @typedef {import('../../api.ts').PayloadJson} Payload */

/**
 * The payload, read when somebody asks for it: who did is told in an event.
 *
 * @param {string} id
 * @param {AbortSignal} signal
 */
export function payloadSection(id, signal) {
  const body = h('div');
  const element = h(
    'section',
    { 'aria-labelledby': 'payload-title', 'data-own': 'payload' },
    h('h2', { id: 'payload-title' }, t('payload.title')),
    body,
  );
  fill(
    body,
    h(
      'button',
      { type: 'button', 'data-action': 'show-payload', onclick: () => void load() },
      t('payload.show'),
    ),
    h('span', { class: 'muted small' }, ` ${t('payload.hint')}`),
  );
  return element;

  async function load() {
    fill(body, loading());
    await attempt(
      async () => {
        /** @type {Payload} */
        const payload = await read(`tasks/${encodeURIComponent(id)}/payload`, null, signal);
        body.replaceChildren(...payloadParts(payload));
        body.querySelector('button')?.focus();
        announce(t('payload.shown'));
      },
      (error) =>
        fill(
          body,
          failure(error, () => void load()),
        ),
    );
  }
}

/** @param {Payload} payload */
function payloadParts({ payload, isJson, bytes, redacted }) {
  if (payload === null) {
    const words = bytes > 0 ? t('payload.tooLarge', { size: formatBytes(bytes) }) : t('payload.none');
    return [h('p', { class: 'muted' }, words)];
  }
  const value = isJson ? parsed(payload.text) : undefined;
  const isCut = payload.text.length < payload.length;
  const tree = value === undefined ? null : jsonTree(value, t('payload.title'));
  const raw = h('div', { class: 'boxed' });
  const box = h('div', { class: 'scroll boxed' }, tree);
  const rawButton = h(
    'button',
    {
      type: 'button',
      class: 'small',
      'data-action': 'raw',
      'aria-pressed': 'false',
      onclick: () => showRaw(raw.hidden !== false),
    },
    t('payload.raw'),
  );
  const copyButton = h(
    'button',
    { type: 'button', class: 'small', 'data-action': 'copy', onclick: () => void copy() },
    t('payload.copy'),
  );
  showRaw(tree === null);
  return [
    h(
      'div',
      { class: 'payload-bar' },
      tree && rawButton,
      copyButton,
      h('span', { class: 'muted small' }, formatBytes(bytes)),
      redacted > 0 &&
        h(
          'span',
          { class: 'tag tag-paused' },
          t('payload.redacted', { n: redacted, count: formatCount(redacted) }),
        ),
      isCut &&
        h(
          'span',
          { class: 'tag tag-paused' },
          t('payload.cut', { count: formatCount(payload.text.length), length: formatCount(payload.length) }),
        ),
    ),
    box,
    raw,
  ];

  /** @param {boolean} isRaw */
  function showRaw(isRaw) {
    if (isRaw && raw.childElementCount === 0 && payload) raw.append(longText(payload));
    raw.hidden = !isRaw;
    box.hidden = isRaw;
    rawButton.setAttribute('aria-pressed', String(isRaw));
  }

  async function copy() {
    try {
      await navigator.clipboard.writeText(payload?.text ?? '');
      copyButton.textContent = t('payload.copied');
      announce(t('payload.copied'));
    } catch {
      // Without a secure context there is no clipboard: the text is there to be selected.
      showRaw(true);
      announce(t('payload.copyFailed'));
      copyButton.textContent = t('payload.copyFailed');
    }
  }
}

/**
 * @param {string} text
 * @returns {unknown} undefined when it is not JSON after all, or was cut
 */
function parsed(text) {
  try {
    return JSON.parse(text, asWritten);
  } catch (error) {
    // Values that are nested by the thousand leave no room for the function: the tree marks the numbers that are rounded then.
    return error instanceof RangeError ? JSON.parse(text) : undefined;
  }
}

/**
 * @param {string} _name
 * @param {unknown} value
 * @param {{ source?: string }} [context] browsers from before 2025 do not tell it: the tree marks what they have rounded
 */
function asWritten(_name, value, context) {
  const source = context?.source;
  return typeof value === 'number' && source !== undefined ? new WrittenNumber(source) : value;
}
