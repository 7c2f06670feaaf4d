import { notInTransaction, type SqlHandle } from '../../storage/sql-handle.js';
import { withQuestionMarks } from './placeholders.js';
import { rowsOf } from './rows.js';

/** The part of a MikroORM `EntityManager` that {@link fromMikroOrm} uses. */
export interface MikroOrmLike {
  isInTransaction(): boolean;
  getTransactionContext(): unknown;
  getConnection(): {
    execute(text: string, values: unknown[], method: 'all', transaction: never): Promise<unknown>;
  };
}

/**
 * Lets a task join a MikroORM transaction.
 *
 * @example await em.transactional((tx) => queue.insertTask(task, { tx: fromMikroOrm(tx) }));
 * @throws {TarefaError} `INPUT_INVALID` when the entity manager is in no transaction
 */
export function fromMikroOrm(em: MikroOrmLike): SqlHandle {
  if (!em.isInTransaction()) throw notInTransaction('a MikroORM entity manager without a transaction');
  return {
    query: async (text, values = []) => {
      const positional = withQuestionMarks(text, values);
      const context = em.getTransactionContext() as never;
      const rows = await em.getConnection().execute(positional.text, positional.bindings, 'all', context);
      return { rows: rowsOf(rows) };
    },
  };
}
