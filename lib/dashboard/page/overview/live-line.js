import { h } from '../dom.js';
import { icon } from '../icons.js';
import { t } from '../language.js';
import { wordsOf } from '../states.js';

/**
 * Whether the numbers are as they are now, in words, and a button that stops or starts them.
 *
 * @param {import('../live.js').LiveState} state
 * @param {import('../api-client.js').Refusal | null} refusal
 * @param {import('../live.js').LiveOverview} live
 */
export function liveLine(state, refusal, live) {
  const isStopped = state === 'paused' || state === 'refused';
  return [
    h(
      'span',
      { class: `live-state live-${state}`, role: 'status', 'data-live': state },
      icon(isStopped ? 'pause' : 'live'),
      t(`live.${state}`),
      refusal && h('span', { class: 'text' }, ` ${wordsOf(refusal)}`),
    ),
    h(
      'button',
      {
        type: 'button',
        class: 'small',
        'data-action': isStopped ? 'go-live' : 'stop-live',
        onclick: () => live.setPaused(state !== 'refused' && !live.isPausedByUser),
      },
      t(isStopped ? 'live.start' : 'live.stop'),
    ),
  ];
}
