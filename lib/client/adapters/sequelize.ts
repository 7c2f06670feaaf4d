import { notInTransaction, type SqlHandle } from '../../storage/sql-handle.js';
import { isNumbered } from './placeholders.js';
import { rowsOf } from './rows.js';

/** The part of Sequelize that {@link fromSequelize} uses. */
export interface SequelizeLike {
  query(text: string, options: never): PromiseLike<unknown>;
}

/** The part of a transaction of Sequelize by which {@link fromSequelize} knows it. */
export interface SequelizeTransaction {
  commit(): PromiseLike<unknown>;
}

/**
 * Lets a task join a Sequelize transaction.
 *
 * @example
 * await sequelize.transaction((transaction) =>
 *   queue.insertTask(task, { tx: fromSequelize(sequelize, transaction) }));
 * @throws {TarefaError} `INPUT_INVALID` without a transaction, or when it has ended
 */
export function fromSequelize(sequelize: SequelizeLike, transaction: SequelizeTransaction): SqlHandle {
  const { commit, finished } = (transaction ?? {}) as Partial<SequelizeTransaction> & { finished?: unknown };
  if (typeof commit !== 'function') throw notInTransaction('Sequelize without a transaction');
  if (finished !== undefined) throw notInTransaction('a Sequelize transaction that has ended');
  return {
    query: async (text, values = []) => {
      const given = isNumbered(text) ? { bind: values } : { replacements: values };
      const options = { transaction, ...(values.length > 0 && given) };
      // Rows and what is known of them, or two numbers, or a driver's answer twice.
      const [rows] = (await sequelize.query(text, options as never)) as readonly unknown[];
      return { rows: rowsOf(rows) };
    },
  };
}
