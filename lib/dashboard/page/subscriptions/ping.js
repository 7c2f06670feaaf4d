import { act } from '../api-client.js';
import { cancelButton, openDialog } from '../dialog.js';
import { h } from '../dom.js';
import { fill } from '../fill.js';
import { formatDuration } from '../format.js';
import { phrase, t } from '../language.js';
import { attempt, loading, wordsOf } from '../states.js';
import { shown, visibleText } from '../text.js';

/** @typedef {import('../../api.ts').PingJson} Ping */

/**
 * Sends a test request to the endpoint, after asking, and shows what came back.
 *
 * @param {string} id
 */
export function pingButton(id) {
  return h(
    'button',
    { type: 'button', 'data-action': 'ping', 'data-key': 'ping', onclick: () => openPing(id) },
    t('action.ping'),
  );
}

/** @param {string} id */
function openPing(id) {
  openDialog(t('ping.title'), ({ signal, close }) => {
    const outcome = h('div', { 'aria-live': 'polite' });
    const send = h(
      'button',
      { type: 'button', class: 'primary', 'data-action': 'confirm', onclick: () => void ping() },
      t('ping.send'),
    );
    return [
      h(
        'div',
        { class: 'dialog-body' },
        h('p', null, phrase('ping.body', { subscription: shown(id) })),
        outcome,
      ),
      h('div', { class: 'dialog-buttons' }, cancelButton(close), send),
    ];

    async function ping() {
      if (send.getAttribute('aria-disabled') === 'true') return;
      send.setAttribute('aria-disabled', 'true');
      fill(outcome, loading());
      await attempt(
        async () => {
          fill(outcome, answerOf(await act('ping', { id }, signal)));
        },
        (error) => fill(outcome, h('p', { class: 'problem-text text' }, wordsOf(error))),
      );
      send.removeAttribute('aria-disabled');
      send.textContent = t('ping.again');
    }
  });
}

/** @param {Ping} answer */
function answerOf({ ok, status, durationMs, failure }) {
  const facts = [
    status !== null && t('ping.status', { status }),
    durationMs !== null && t('ping.duration', { duration: formatDuration(durationMs) }),
  ].filter((fact) => fact !== false);
  return h(
    'div',
    { class: ok ? 'good-text' : 'problem-text', 'data-ping': ok ? 'ok' : 'failed' },
    h('p', { class: 'strong' }, t(ok ? 'ping.ok' : 'ping.failed')),
    facts.length > 0 && h('p', null, facts.join(' · ')),
    failure !== null && h('p', { class: 'text' }, visibleText(failure.slice(0, 2000))),
  );
}
