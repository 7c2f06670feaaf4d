import { notInTransaction, type SqlHandle } from '../../storage/sql-handle.js';
import { partsOf } from './placeholders.js';
import { rowsOf } from './rows.js';

/** The part of a Drizzle transaction that {@link fromDrizzle} uses. */
export interface DrizzleLike {
  execute(query: never): PromiseLike<unknown>;
}

/** The part of Drizzle's `sql` that {@link fromDrizzle} uses. */
export interface DrizzleSql {
  raw(text: string): unknown;
  param(value: unknown): unknown;
  join(chunks: never[]): unknown;
}

/**
 * Lets a task join a Drizzle transaction, of node-postgres, postgres.js or mysql2.
 *
 * @param sql Drizzle's own `sql`, the only way to make a query from text
 * @example
 * // `sql` is that of drizzle-orm.
 * await db.transaction((tx) => queue.insertTask(task, { tx: fromDrizzle(tx, sql) }));
 * @throws {TarefaError} `INPUT_INVALID` when it is the database itself
 */
export function fromDrizzle(tx: DrizzleLike, sql: DrizzleSql): SqlHandle {
  if (typeof (tx as { rollback?: unknown }).rollback !== 'function') {
    throw notInTransaction('a Drizzle database itself');
  }
  return {
    query: async (text, values = []) => {
      const chunks = partsOf(text, values).map((part) =>
        'text' in part ? sql.raw(part.text) : sql.param(part.value),
      );
      return { rows: rowsOf(await tx.execute(sql.join(chunks as never[]) as never)) };
    },
  };
}
