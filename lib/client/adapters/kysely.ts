import { notInTransaction, type SqlHandle } from '../../storage/sql-handle.js';
import { rowsOf } from './rows.js';

/** The part of a Kysely `Transaction` that {@link fromKysely} uses. */
export interface KyselyLike {
  readonly isTransaction: boolean;
  executeQuery(query: never): Promise<{ readonly rows: unknown[] }>;
}

/**
 * Lets a task join a Kysely transaction.
 *
 * @example await db.transaction().execute((trx) => queue.insertTask(task, { tx: fromKysely(trx) }));
 * @throws {TarefaError} `INPUT_INVALID` when it is the database itself
 */
export function fromKysely(trx: KyselyLike): SqlHandle {
  if (!trx.isTransaction) throw notInTransaction('a Kysely database itself');
  return {
    query: async (text, values = []) => {
      // What `CompiledQuery.raw()` makes.
      const query = {
        sql: text,
        parameters: values,
        query: { kind: 'RawNode', sqlFragments: [text], parameters: [] },
        queryId: { queryId: 'nestjs-tarefa' },
      };
      return { rows: rowsOf(await trx.executeQuery(query as never)) };
    },
  };
}
