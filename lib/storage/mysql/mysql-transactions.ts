import type { Completion, WorkerId } from '../attempt.js';
import { askHandle, type SqlHandle } from '../sql-handle.js';
import { readStanding } from '../task-row.js';
import { uncompletedElsewhere } from '../transaction-errors.js';
import type { ServerSession, TaskGroup, TaskTransaction, TaskTransactions } from '../transactions.js';
import { killSession } from './connections/session-place.js';
import { translated } from './dialect.js';
import { MysqlGroup } from './mysql-group.js';
import { MysqlTransaction } from './mysql-transaction.js';
import type { ServerAccess } from './other-ways.js';
import { changedRows, complete, seen } from './statements/complete-in.js';
import { idsJson, standing } from './statements/held.js';

/** {@link TaskTransactions} on the connections of handlers. */
export class MysqlTransactions implements TaskTransactions {
  readonly #access: ServerAccess;

  constructor(access: ServerAccess) {
    this.#access = access;
  }

  begin(workerId: WorkerId, opened?: (session: ServerSession) => void): TaskTransaction {
    return new MysqlTransaction(this.#access, workerId, opened);
  }

  beginGroup(workerId: WorkerId): TaskGroup {
    const { Group = MysqlGroup } = this.#access.ways;
    return new Group(this.#access, workerId);
  }

  /** Handles of other libraries tell changed rows in ways of their own, so the server is asked. */
  async completeIn(tx: SqlHandle, workerId: WorkerId, completion: Completion): Promise<void> {
    const { id, reservation, message, result } = completion;
    const { tables, dialect } = this.#access;
    const handle = translated(tx, dialect);
    await handle.query(complete(tables, 'complete_in'), [message, result, id, reservation, workerId]);
    const [row] = await askHandle(handle, changedRows, []);
    if (Number(row?.['changed']) === 1) return;
    const [found] = await askHandle(handle, seen(tables), [id]);
    // A child has no connection that claims.
    const { rows } = await this.#access.own.query(standing(tables), [idsJson([id]), workerId]);
    throw uncompletedElsewhere(workerId, completion, found, rows.map(readStanding));
  }

  async endSession(session: ServerSession): Promise<void> {
    await this.#access.own.use((run) => killSession(session, run)).catch(() => undefined);
  }
}
