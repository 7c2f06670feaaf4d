import type { EndListener } from '../coordination/end-listener.js';
import { TarefaError } from '../errors.js';

/** A worker may have ended the task before it heard of the wait; one that starts later never hears of it. */
const lookAgainMs = [100, 1_000];
const lookAtLeastMs = 5_000;
/** How often it looks when nobody can tell it. */
const untoldMs = 250;

/** Waits for tasks to end: woken by the worker, and looking now and then in case the ring was lost. */
export class TaskWaiter {
  readonly #open: () => Promise<EndListener | undefined>;
  #listener: Promise<EndListener | undefined> | undefined;

  /** @param open opens the listener at the first wait; undefined where the connection cannot listen */
  constructor(open: () => Promise<EndListener | undefined>) {
    this.#open = open;
  }

  /**
   * @param look answers the result once the task has ended
   * @param mostPauseMs how long it does not look at most, while nobody tells it
   * @throws {TarefaError} `WAIT_TIMEOUT`
   */
  async wait<T>(
    firstAttemptId: string,
    timeoutMs: number,
    look: () => Promise<T | undefined>,
    mostPauseMs = lookAtLeastMs,
  ): Promise<T> {
    const deadline = performance.now() + timeoutMs;
    this.#listener ??= this.#open().catch((error: unknown) => {
      this.#listener = undefined;
      throw error;
    });
    const listener = await this.#listener;
    let wake: () => void = () => {};
    let isEnded = false;
    const stop = listener?.listen(firstAttemptId, () => {
      isEnded = true;
      wake();
    });
    try {
      for (let round = 0; ; round += 1) {
        const leftMs = deadline - performance.now();
        // Told first and read afterwards: what ends in between is told.
        if (leftMs > 0) await listener?.announce(firstAttemptId, Math.ceil(leftMs));
        isEnded = false;
        const found = await look();
        if (found !== undefined) return found;
        if (leftMs <= 0) throw timedOut(firstAttemptId, timeoutMs);
        const isTold = listener !== undefined && !listener.isRefused;
        const pauseMs = isTold ? Math.min(lookAgainMs[round] ?? lookAtLeastMs, mostPauseMs) : untoldMs;
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, isEnded ? 0 : Math.min(pauseMs, leftMs));
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
    } finally {
      stop?.();
    }
  }
}

function timedOut(id: string, timeoutMs: number): TarefaError {
  return new TarefaError(
    'WAIT_TIMEOUT',
    `task ${id} did not finish within ${timeoutMs} ms and is still waiting or running`,
  );
}
