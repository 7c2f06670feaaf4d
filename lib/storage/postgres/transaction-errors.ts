import { TarefaError } from '../../errors.js';
import type { Completion } from '../attempt.js';

const divisionByZero = '22012';
const inFailedTransaction = '25P02';

/** A statement that comes when its handler is over. */
export function usedAfterEnd(): TarefaError {
  return new TarefaError(
    'TASK_ENDED',
    'ctx.db was used after the handler had ended: await every call inside the handler',
  );
}

/**
 * What a handler did to its transaction.
 *
 * @param status of the transaction as the server said last
 * @param cause first statement of the handler that failed
 */
export function brokenTransaction(status: string | null, cause: unknown): TarefaError {
  if (status === 'I') {
    return new TarefaError(
      'TRANSACTION_BROKEN',
      'the handler ended the transaction of ctx.db by itself: leave COMMIT and ROLLBACK to the queue',
    );
  }
  const what = cause instanceof Error ? `: ${cause.message}` : '';
  return new TarefaError(
    'TRANSACTION_BROKEN',
    `a statement of the handler failed and its error was swallowed${what}; let database errors leave the handler`,
    { cause },
  );
}

/** Why a completion was refused; errors that say nothing of our own pass unchanged. */
export function explainRefusal(error: unknown, completion: Completion, firstError: unknown): unknown {
  const code = (error as { code?: unknown }).code;
  if (code === divisionByZero) {
    return new TarefaError(
      'TASK_LOST',
      `attempt ${completion.id} no longer belongs to this worker: its transaction was rolled back`,
    );
  }
  return code === inFailedTransaction ? brokenTransaction(null, firstError) : error;
}

/** An attempt cannot be completed in a transaction of the application's. */
export function lostElsewhere(id: string): TarefaError {
  return new TarefaError('TASK_LOST', `attempt ${id} no longer belongs to this worker: roll back`);
}

/** A queue without such a table was given a publication. */
export function noSubscriptions(): TarefaError {
  return new TarefaError(
    'SUBSCRIPTIONS_UNAVAILABLE',
    'a publication was inserted, but this queue has no subscriptions table: set subscriptionTable (or QUEUE_SUBSCRIBER_TABLE)',
  );
}

/** What it means when a fan-out finds no table. */
export function explainFanOut(error: unknown): unknown {
  if ((error as { code?: unknown }).code !== '42P01') return error;
  return new TarefaError(
    'SUBSCRIPTIONS_UNAVAILABLE',
    `the subscriptions table cannot be read (${(error as Error).message}): create it, or set subscriptionTable`,
    { cause: error },
  );
}
