import type { Bell } from './bell.js';

/** Hears of the ends of tasks that this process waits for. */
export class EndListener {
  readonly #bell: Bell;
  readonly #waiting = new Map<string, Set<() => void>>();
  #refusal: unknown;

  private constructor(bell: Bell) {
    this.#bell = bell;
  }

  static async start(bell: Bell): Promise<EndListener> {
    const listener = new EndListener(bell);
    await bell.listen(
      'ends',
      (id) => {
        for (const ended of listener.#waiting.get(id) ?? []) ended();
      },
      (refusal) => (listener.#refusal = refusal),
    );
    return listener;
  }

  /** True while the database refuses to let it listen. */
  get isRefused(): boolean {
    return this.#refusal !== undefined;
  }

  /** Tells the workers that this process waits for that task, for that time. */
  announce(firstAttemptId: string, forMs: number): Promise<void> {
    return this.#bell.ring('waits', { firstAttemptId, forMs });
  }

  /** Calls back at that task's end; returns the function that stops it. */
  listen(firstAttemptId: string, ended: () => void): () => void {
    const listeners = this.#waiting.get(firstAttemptId) ?? new Set();
    listeners.add(ended);
    this.#waiting.set(firstAttemptId, listeners);
    return () => {
      listeners.delete(ended);
      if (listeners.size === 0) this.#waiting.delete(firstAttemptId);
    };
  }
}
