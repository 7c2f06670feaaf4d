import type { ClaimCursor } from './claim-cursor.js';

/** Tells people when sweeps have become rare: once, and again after they were frequent. */
export class SweepWarning {
  readonly #warn: (message: string) => void;
  readonly #sessions: string;
  #told = false;

  /** @param sessions where the database tells of sessions with old transactions */
  constructor(warn: (message: string) => void, sessions: string) {
    this.#warn = warn;
    this.#sessions = sessions;
  }

  /** A sweep has ended. */
  check({ sweepPauseMs, sweepsRarely }: Pick<ClaimCursor, 'sweepPauseMs' | 'sweepsRarely'>): void {
    const told = this.#told;
    this.#told = sweepsRarely;
    if (told || !sweepsRarely) return;
    const seconds = Math.ceil(sweepPauseMs / 1_000);
    this.#warn(
      `tasks that nobody rings for, such as rows set back by hand, may wait for ${seconds} s: dead entries pile up in ` +
        `the index of pending tasks. Is there a session with an old transaction (${this.#sessions})?`,
    );
  }
}
