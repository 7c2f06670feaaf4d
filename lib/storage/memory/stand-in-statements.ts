import type { SqlHandle } from '../sql-handle.js';
import { swallowedError, usedAfterEnd } from '../transaction-errors.js';
import { needsDatabase } from './needs-database.js';

/** One handler's statements, run by what stands in for a database. What they did is not undone. */
export class StandInStatements {
  readonly #db: SqlHandle | undefined;
  #opened = false;
  #ended = false;
  /** First statement that failed: named when the handler swallowed it. */
  #firstError: unknown;
  /** Settles when all statements until now have ended. */
  #last: Promise<unknown> = Promise.resolve();

  /** @param db undefined: every statement is refused */
  constructor(db: SqlHandle | undefined) {
    this.#db = db;
  }

  /** True once a statement was run. */
  get opened(): boolean {
    return this.#opened;
  }

  get ended(): boolean {
    return this.#ended;
  }

  async run(text: string, values?: unknown[]): ReturnType<SqlHandle['query']> {
    if (this.#ended) throw usedAfterEnd();
    if (!this.#db) throw needsDatabase('ctx.db');
    this.#opened = true;
    const answer = this.#db.query(text, values);
    this.#last = Promise.allSettled([this.#last, answer.catch((error: unknown) => this.#note(error))]);
    return answer;
  }

  /** Refuses statements from now on. */
  end(): void {
    this.#ended = true;
  }

  /** Waits for the statements under way; throws when one has failed and the handler went on. */
  async check(): Promise<void> {
    await this.#last;
    if (this.#firstError !== undefined) throw swallowedError(this.#firstError);
  }

  #note(error: unknown): void {
    this.#firstError ??= error ?? new Error('a statement failed');
  }
}
