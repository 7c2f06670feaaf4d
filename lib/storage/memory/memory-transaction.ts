import type { SqlHandle } from '../sql-handle.js';
import type { Completion } from '../attempt.js';
import type { TaskTransaction } from '../transactions.js';
import { needsDatabase } from './needs-database.js';

/** `ctx.db` without a database: a stand-in of the test's own, or an error that says so. Nothing is ever undone. */
export class MemoryTransaction implements TaskTransaction {
  readonly #db: SqlHandle | undefined;
  readonly #complete: (completion: Completion) => void;
  #opened = false;

  constructor(db: SqlHandle | undefined, complete: (completion: Completion) => void) {
    this.#db = db;
    this.#complete = complete;
  }

  get opened(): boolean {
    return this.#opened;
  }

  async query(text: string, values?: unknown[]): ReturnType<SqlHandle['query']> {
    if (!this.#db) throw needsDatabase('ctx.db');
    this.#opened = true;
    return this.#db.query(text, values);
  }

  async client(): Promise<never> {
    throw needsDatabase('ctx.client()');
  }

  async complete(completion: Completion): Promise<void> {
    this.#complete(completion);
  }

  async rollback(): Promise<void> {}

  destroy(): void {}
}
