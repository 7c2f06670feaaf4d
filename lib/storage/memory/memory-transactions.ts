import type { Completion, WorkerId } from '../attempt.js';
import type { SqlHandle } from '../sql-handle.js';
import { lostElsewhere } from '../transaction-errors.js';
import type { TaskGroup, TaskTransaction, TaskTransactions } from '../transactions.js';
import { MemoryGroup } from './memory-group.js';
import type { MemoryTable } from './memory-table.js';
import { MemoryTransaction } from './memory-transaction.js';

/** {@link TaskTransactions} in memory. */
export class MemoryTransactions implements TaskTransactions {
  readonly #table: MemoryTable;
  readonly #db: SqlHandle | undefined;

  /** @param db runs the statements of handlers; undefined: they are refused */
  constructor(table: MemoryTable, db: SqlHandle | undefined) {
    this.#table = table;
    this.#db = db;
  }

  begin(workerId: WorkerId): TaskTransaction {
    return new MemoryTransaction(this.#table, workerId, this.#db);
  }

  beginGroup(workerId: WorkerId): TaskGroup {
    return new MemoryGroup(this.#table, workerId, this.#db);
  }

  async completeIn(_tx: SqlHandle, workerId: WorkerId, completion: Completion): Promise<void> {
    const row = this.#table.held(workerId, completion);
    if (!row) throw lostElsewhere(completion.id);
    this.#table.complete(row, completion.message, completion.result);
  }

  /** There are none: what runs here ends with its process. */
  async endSession(): Promise<void> {}
}
