import { notInTransaction, type SqlHandle } from '../../storage/sql-handle.js';
import { rowsOf } from './rows.js';

/** The part of a TypeORM `EntityManager` or `QueryRunner` that {@link fromTypeOrm} uses. */
export interface TypeOrmLike {
  query(text: string, values?: unknown[]): Promise<unknown>;
  /** Of an `EntityManager` inside a transaction. */
  readonly queryRunner?: { readonly isTransactionActive: boolean } | undefined;
  /** Of a `QueryRunner`. */
  readonly isTransactionActive?: boolean | undefined;
}

/**
 * Lets a task join a TypeORM transaction.
 *
 * @example await dataSource.transaction((manager) => queue.insertTask(task, { tx: fromTypeOrm(manager) }));
 * @throws {TarefaError} `INPUT_INVALID` when the manager or query runner is in no transaction
 */
export function fromTypeOrm(manager: TypeOrmLike): SqlHandle {
  if (!(manager.isTransactionActive ?? manager.queryRunner?.isTransactionActive ?? false)) {
    throw notInTransaction('a TypeORM manager, data source or query runner without a transaction');
  }
  return {
    query: async (text, values) => ({ rows: rowsOf(await manager.query(text, values)) }),
  };
}
