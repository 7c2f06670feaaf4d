import { TarefaError } from '../errors.js';

/** The error of a statement that comes after its handler has ended. */
export function usedAfterEnd(): TarefaError {
  return new TarefaError(
    'TASK_ENDED',
    'ctx.db was used after the handler had ended: await every call inside the handler',
  );
}

/** A handler has committed or rolled back the transaction that it was given. */
export function endedByHandler(): TarefaError {
  return new TarefaError(
    'TRANSACTION_BROKEN',
    'the handler ended the transaction of ctx.db by itself: leave COMMIT and ROLLBACK to the queue',
  );
}

/**
 * A handler went on after a statement of its transaction had failed.
 *
 * @param cause the first of its statements that failed
 */
export function swallowedError(cause: unknown): TarefaError {
  const what = cause instanceof Error ? `: ${cause.message}` : '';
  return new TarefaError(
    'TRANSACTION_BROKEN',
    `a statement of the handler failed and its error was swallowed${what}; let database errors leave the handler`,
    { cause },
  );
}

/** An attempt cannot be completed in its own transaction, because another worker holds it. */
export function lostInTransaction(id: string): TarefaError {
  return new TarefaError(
    'TASK_LOST',
    `attempt ${id} no longer belongs to this worker: its transaction was rolled back`,
  );
}

/** An attempt cannot be completed in a transaction of the application's. */
export function lostElsewhere(id: string): TarefaError {
  return new TarefaError('TASK_LOST', `attempt ${id} no longer belongs to this worker: roll back`);
}
