import { notInTransaction, type CheckedHandle } from '../../storage/sql-handle.js';
import { rowsOf } from './rows.js';

/** The part of a connection of `mysql2/promise` that {@link fromMysql2} uses. */
export interface Mysql2Like {
  query(text: string, values?: never): Promise<unknown>;
  /** Of a connection. */
  beginTransaction(): Promise<unknown>;
}

/** Flags that a server sends with the answer to a statement without rows. */
const [inTransaction, autocommit] = [1, 2];

/**
 * Lets a task join a transaction of a `mysql2` connection, of MySQL or MariaDB. One with callbacks has `promise()`.
 *
 * @example
 * await connection.beginTransaction();
 * await queue.insertTask(task, { tx: fromMysql2(connection) });
 * await connection.commit();
 * @throws {TarefaError} `INPUT_INVALID` when it is a pool; an insert throws it when the connection is in no transaction
 */
export function fromMysql2(connection: Mysql2Like): CheckedHandle {
  if (typeof (connection as { getConnection?: unknown }).getConnection === 'function') {
    throw notInTransaction('a mysql2 pool, which runs each statement on any free connection');
  }
  const query: CheckedHandle['query'] = async (text, values = []) => ({
    rows: rowsOf(await connection.query(text, values as never)),
  });
  let isChecked = false;
  return {
    query,
    inTransaction: {
      query: async (text, values) => {
        if (!isChecked) await refuseOutside(connection);
        isChecked = true;
        return query(text, values);
      },
    },
  };
}

/** What a statement alone inserts is committed at once. The server says so with every answer. */
async function refuseOutside(connection: Mysql2Like): Promise<void> {
  const [header] = (await connection.query('do 0')) as readonly [{ readonly serverStatus?: number }];
  const status = header.serverStatus ?? inTransaction;
  if ((status & inTransaction) === 0 && (status & autocommit) !== 0) {
    throw notInTransaction('a mysql2 connection without a transaction');
  }
}
