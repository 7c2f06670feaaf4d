import type { Completion, WorkerId } from '../attempt.js';
import { askHandle, type SqlHandle } from '../sql-handle.js';
import { readStanding } from '../task-row.js';
import { uncompletedElsewhere } from '../transaction-errors.js';
import type { ServerSession, TaskGroup, TaskTransaction, TaskTransactions } from '../transactions.js';
import { endBackend } from './connections/backend.js';
import { PostgresGroup } from './postgres-group.js';
import { PostgresTransaction } from './postgres-transaction.js';
import type { QueueAccess } from './queue-access.js';

/** {@link TaskTransactions} on the connections of the pool. */
export class PostgresTransactions implements TaskTransactions {
  readonly #access: QueueAccess;

  constructor(access: QueueAccess) {
    this.#access = access;
  }

  begin(workerId: WorkerId, opened?: (session: ServerSession) => void, quiet?: boolean): TaskTransaction {
    const { pool, reach, texts, sql } = this.#access;
    const complete = sql.completeOrRaise;
    return new PostgresTransaction({ pool, reach, complete, texts, workerId, opened, quiet });
  }

  beginGroup(workerId: WorkerId): TaskGroup {
    const { pool, reach, texts, sql } = this.#access;
    return new PostgresGroup({ pool, reach, complete: sql.completeManyOrRaise, texts, workerId });
  }

  async completeIn(tx: SqlHandle, workerId: WorkerId, completion: Completion): Promise<void> {
    const { id, reservation, message, result } = this.#access.texts?.completion(completion) ?? completion;
    const values = [id, workerId, reservation, message, result];
    const { sql } = this.#access;
    const { rows } = await tx.query(sql.completeElsewhere.text, values);
    if (rows.length > 0) return;
    const [seen] = await askHandle(tx, sql.seenElsewhere.text, [id]);
    // A child has no connection that claims.
    const standing = await askHandle(this.#access.inserts, sql.standing.text, [workerId, [id]]);
    throw uncompletedElsewhere(workerId, completion, seen, standing.map(readStanding));
  }

  endSession(session: ServerSession): Promise<void> {
    // Not by the pool: handlers that hold all of it may wait for the locks of this session.
    return endBackend(session, this.#access.inserts);
  }
}
