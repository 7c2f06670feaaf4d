import { TarefaError } from '../errors.js';
import type { Completion, StandingClaim, WorkerId } from './attempt.js';
import { readStatus, readText, type Row } from './columns.js';

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
    'the handler itself ended the transaction of ctx.db: leave COMMIT and ROLLBACK to the queue',
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

/** An attempt is its worker's still, though its own transaction has not found the row. */
export function hiddenInTransaction(id: string, cause: unknown): TarefaError {
  return new TarefaError(
    'RIGHTS_MISSING',
    `attempt ${id} is this worker's, but its own transaction could not see or change its row at the end: row-level security hides it from the role that the handler had taken, or a trigger leaves it as it is. The transaction was rolled back`,
    { cause },
  );
}

/** An attempt cannot be completed in a transaction of the application's. */
export function lostElsewhere(id: string): TarefaError {
  return new TarefaError('TASK_LOST', `attempt ${id} no longer belongs to this worker: roll back`);
}

/**
 * Why a transaction of the application's has not completed an attempt.
 *
 * @param seen what it sees of the attempt's row, all null when nothing, and as `who`
 * @param standing what the worker itself reads of its claim
 */
export function uncompletedElsewhere(
  workerId: WorkerId,
  { id, reservation }: Pick<Completion, 'id' | 'reservation'>,
  seen: Row | undefined,
  standing: readonly StandingClaim[],
): TarefaError {
  const isHeld = standing.some(
    (claim) => claim.id === id && claim.reservation === reservation && !claim.completed,
  );
  const status = readText(seen?.['status']);
  const seesHeld =
    readStatus(status) === 'processing' &&
    readText(seen?.['executor']) === workerId &&
    Number(seen?.['reserva']) === reservation;
  // One that has completed it before sees that.
  if (!isHeld || (status !== null && !seesHeld)) return lostElsewhere(id);
  const role = readText(seen?.['who']) ?? '';
  const may = status === null ? 'does not see its row' : 'may not change its row';
  return new TarefaError(
    'RIGHTS_MISSING',
    `attempt ${id} is this worker's, but the transaction given to ctx.completeIn, as ${role}, ${may}: row-level security hides it from that role, a trigger leaves it as it is, or it is a transaction of another database. Nothing was completed: roll back`,
  );
}
