import { read } from '../api-client.js';
import { formatCount } from '../format.js';
import { repeat } from '../repeat.js';
import { attempt } from '../states.js';

/** @typedef {import('../../api.ts').CountsJson} Counts */

const everyMs = 10_000;

/**
 * Keeps asking how many tasks there are of each status.
 *
 * @param {() => void} onChange
 * @param {AbortSignal} signal
 */
export function statusCounts(onChange, signal) {
  /** @type {Counts | null} */
  let known = null;
  void look();
  repeat(look, everyMs, signal);
  return { textOf };

  async function look() {
    await attempt(
      async () => {
        known = await read('counts', null, signal);
        onChange();
      },
      () => {
        // The list itself says when the server does not answer. Old numbers would be wrong.
        known = null;
        onChange();
      },
    );
  }

  /**
   * Of the topic, subscription and chain that are chosen; empty while nothing is known.
   *
   * @param {string} status
   * @param {URLSearchParams} filters
   */
  function textOf(status, filters) {
    if (!known) return '';
    const [topic, subscription, dead] = ['topic', 'subscription', 'dead'].map((name) => filters.get(name));
    const meant = known.counts.filter(
      (one) =>
        one.status === status &&
        (topic === null || (one.topic ?? '') === topic) &&
        (subscription === null || one.subscriptionId === subscription) &&
        (dead === null || String(one.dead) === dead),
    );
    return formatCount(
      meant.reduce((sum, { count }) => sum + count, 0),
      meant.some(({ isCapped }) => isCapped),
    );
  }
}
