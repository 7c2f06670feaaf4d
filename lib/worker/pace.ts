import type { Signal } from './signal.js';

/** A claim that few slots wait for comes after a pause of so many times what the last one took, */
const pauseFactor = 2;
/** but never later than that. */
const longestPauseMs = 4;

/**
 * Keeps claims from becoming too small. Tasks that end one by one would each send a statement that settles one and
 * claims one, and these would take more of the database than the tasks. So while most slots are busy, the next
 * statement waits until half of them are free, or a moment has passed that is short beside what keeps them busy.
 */
export class Pace {
  readonly #signal: Signal;
  #endedAt = -Infinity;
  #pauseMs = 0;

  constructor(signal: Signal) {
    this.#signal = signal;
  }

  /** @param tookMs what the statement that has just ended took */
  ended(tookMs: number): void {
    this.#endedAt = performance.now();
    this.#pauseMs = Math.min(longestPauseMs, tookMs * pauseFactor);
  }

  /** Resolves when the next statement is worth sending. */
  async wait(isWorth: () => boolean): Promise<void> {
    for (;;) {
      const leftMs = this.#endedAt + this.#pauseMs - performance.now();
      if (leftMs <= 0 || isWorth()) return;
      await this.#signal.waitAtMost(leftMs);
    }
  }
}
