import type { Completion, WorkerId } from '../attempt.js';
import type { MysqlAccess } from './mysql-access.js';
import type { TransactionConnection } from './mysql-transaction-connection.js';
import { begin, completeAndCommit, savepoint, type Beginning } from './statements/transaction.js';

/** Tells whether a handler's transaction is still the one that was begun. */
export interface TransactionGuard {
  readonly beginning: Beginning;
  /** Completes an attempt as the last statement of the transaction, and commits. */
  complete(connection: TransactionConnection, workerId: WorkerId, completion: Completion): Promise<unknown>;
}

/** By a savepoint, which is gone with its transaction. */
export function savepointGuard({ tables }: Pick<MysqlAccess, 'tables'>): TransactionGuard {
  return {
    beginning: begin(savepoint),
    complete: (connection, workerId, { id, reservation, message, result }) =>
      connection.ask(completeAndCommit(tables), [message, result, id, reservation, workerId]),
  };
}
