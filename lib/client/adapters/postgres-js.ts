import { notInTransaction, type SqlHandle } from '../../storage/sql-handle.js';
import { rowsOf } from './rows.js';

/** The part of a postgres.js transaction that {@link fromPostgresJs} uses. */
export interface PostgresJsLike {
  unsafe(text: string, values: never[]): PromiseLike<unknown>;
}

/**
 * Lets a task join a postgres.js transaction.
 *
 * @example await sql.begin((tx) => queue.insertTask(task, { tx: fromPostgresJs(tx) }));
 * @throws {TarefaError} `INPUT_INVALID` when it is the connection pool itself
 */
export function fromPostgresJs(tx: PostgresJsLike): SqlHandle {
  if (typeof (tx as { savepoint?: unknown }).savepoint !== 'function') {
    throw notInTransaction('postgres.js itself');
  }
  return {
    query: async (text, values = []) => {
      const given = values.map((value) => value ?? null) as never[];
      return { rows: [...rowsOf(await tx.unsafe(text, given))] };
    },
  };
}
