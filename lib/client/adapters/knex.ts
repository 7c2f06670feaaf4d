import { notInTransaction, type SqlHandle } from '../../storage/sql-handle.js';
import { withQuestionMarks } from './placeholders.js';
import { rowsOf } from './rows.js';

/** The part of a Knex transaction that {@link fromKnex} uses. */
export interface KnexLike {
  raw(text: string, bindings: readonly never[]): PromiseLike<unknown>;
  readonly isTransaction?: boolean | undefined;
}

/**
 * Lets a task join a Knex transaction.
 *
 * @example await knex.transaction((trx) => queue.insertTask(task, { tx: fromKnex(trx) }));
 * @throws {TarefaError} `INPUT_INVALID` when it is Knex itself
 */
export function fromKnex(trx: KnexLike): SqlHandle {
  if (trx.isTransaction !== true) throw notInTransaction('Knex itself');
  return {
    query: async (text, values = []) => {
      const positional = withQuestionMarks(text, values);
      return { rows: rowsOf(await trx.raw(positional.text, positional.bindings as never[])) };
    },
  };
}
