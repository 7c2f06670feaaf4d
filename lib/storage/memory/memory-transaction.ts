import type { Completion, WorkerId } from '../attempt.js';
import type { SqlHandle } from '../sql-handle.js';
import { lostInTransaction, usedAfterEnd } from '../transaction-errors.js';
import type { TaskTransaction } from '../transactions.js';
import type { MemoryTable } from './memory-table.js';
import { needsDatabase } from './needs-database.js';
import { StandInStatements } from './stand-in-statements.js';

/** One task's transaction in memory: its completion is fenced; what its statements did is not undone. */
export class MemoryTransaction implements TaskTransaction {
  readonly #table: MemoryTable;
  readonly #workerId: WorkerId;
  readonly #statements: StandInStatements;

  constructor(table: MemoryTable, workerId: WorkerId, db: SqlHandle | undefined) {
    this.#table = table;
    this.#workerId = workerId;
    this.#statements = new StandInStatements(db);
  }

  get opened(): boolean {
    return this.#statements.opened;
  }

  query(text: string, values?: unknown[]): ReturnType<SqlHandle['query']> {
    return this.#statements.run(text, values);
  }

  async client(): Promise<never> {
    throw needsDatabase('ctx.client()');
  }

  async complete(completion: Completion): Promise<void> {
    if (this.#statements.ended) throw usedAfterEnd();
    this.#statements.end();
    await this.#statements.check();
    const row = this.#table.held(this.#workerId, completion);
    if (!row) throw lostInTransaction(completion.id);
    this.#table.complete(row, completion.message, completion.result);
  }

  async rollback(): Promise<void> {
    this.#statements.end();
  }

  destroy(): void {
    this.#statements.end();
  }
}
