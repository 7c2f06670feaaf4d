import { randomUUID } from 'node:crypto';
import type { MysqlAccess } from '../mysql-access.js';
import type { TransactionGuard } from '../savepoint-guard.js';
import { complete } from '../statements/complete-in.js';
import { commit } from '../statements/transaction.js';
import { lostInTransaction } from '../../transaction-errors.js';
import { brokenTransaction } from '../transaction-errors.js';
import { findLock, forgetLock } from './lock-rows.js';

/**
 * Tells by a row that is inserted at the beginning of a handler's transaction whether it is still the same one. Others see the row
 * once the transaction was committed; it is gone when the transaction was rolled back.
 */
export function markGuard({ own, tables }: MysqlAccess): TransactionGuard {
  // Letters, digits and signs that need no quotes of their own: it stands before statements with parameters.
  const mark = `task:${randomUUID()}`;
  return {
    beginning: {
      text: `-- name: begin\nset autocommit = 0; start transaction; insert into ${tables.locks} (name) values ('${mark}')`,
      statements: 3,
    },
    async complete(connection, workerId, { id, reservation, message, result }) {
      const { rows } = await own.query(findLock(tables), [mark]);
      if (rows.length > 0) {
        await own.query(forgetLock(tables), [mark]);
        throw brokenTransaction(undefined);
      }
      const ending = [forgetLock(tables), complete(tables)].join(';\n');
      const [removed, done] = await connection.ask(ending, [
        mark,
        message,
        result,
        id,
        reservation,
        workerId,
      ]);
      if (removed?.changed !== 1) throw brokenTransaction(undefined);
      if (done?.changed !== 1) throw lostInTransaction(id);
      await connection.ask(commit);
    },
  };
}
