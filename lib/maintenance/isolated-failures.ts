import type { QueueEvents } from '../events.js';
import type { Failure, FailureOutcome } from '../storage/attempt.js';
import type { QueueDatabase } from '../storage/database.js';
import { blamesRow } from '../storage/error-kind.js';
import { failureMessage } from '../worker/running/outcome.js';
import { asPlain } from '../worker/running/settler.js';

/** What {@link IsolatedFailures} works with. */
export interface IsolatedFailuresParts {
  readonly database: QueueDatabase;
  readonly events: QueueEvents;
}

/** Attempts said to be refused are remembered up to so many. */
const mostTold = 1_000;

/**
 * Writes many failures by one statement; when the database refuses them, by halves, so that a row that cannot be failed
 * keeps no other one `processando`. Such a row is tried once more as plain as can be, said once, and left to the next look.
 */
export class IsolatedFailures {
  readonly #parts: IsolatedFailuresParts;
  readonly #told = new Set<string>();

  constructor(parts: IsolatedFailuresParts) {
    this.#parts = parts;
  }

  /** Answers what was written. */
  async fail(failures: readonly Failure[]): Promise<readonly FailureOutcome[]> {
    try {
      return await this.#parts.database.attempts.failMany(failures);
    } catch (error) {
      if (!blamesRow(this.#parts.database.classify(error))) throw error;
      const [only, ...others] = failures;
      if (!only) return [];
      if (others.length === 0) return this.#failPlainly(only, error);
      const half = Math.ceil(failures.length / 2);
      const first = await this.fail(failures.slice(0, half));
      return [...first, ...(await this.fail(failures.slice(half)))];
    }
  }

  async #failPlainly(failure: Failure, error: unknown): Promise<readonly FailureOutcome[]> {
    const isValue = this.#parts.database.classify(error) === 'value';
    const plain = isValue ? asPlain(failure) : undefined;
    if (plain) return this.fail([plain]);
    if (!this.#told.has(failure.id)) {
      const text = `attempt ${failure.id} of a lost worker cannot be failed: ${failureMessage(error)}`;
      this.#parts.events.emit('warning', { message: `${text}. It stays as it is and is tried again` });
    }
    if (this.#told.size >= mostTold) this.#told.clear();
    this.#told.add(failure.id);
    return [];
  }
}
