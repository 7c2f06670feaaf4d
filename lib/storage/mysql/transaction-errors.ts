import { TarefaError } from '../../errors.js';
import type { Completion } from '../attempt.js';
import { lostInTransaction, swallowedError } from '../transaction-errors.js';

/** Numbers of the server's errors. */
const [noSavepoint, severalRows, noTable, deadlock, tooLarge] = [1305, 1242, 1146, 1213, 1153];

function numberOf(error: unknown): unknown {
  return (error as { errno?: unknown } | null | undefined)?.errno;
}

/** True of the error of a statement that names a savepoint which is gone: the transaction has been ended since. */
export function isGone(error: unknown, savepoint: string): boolean {
  // A procedure that does not exist has the same number. Chinese leaves no space between a kind and a name.
  const named = new RegExp(`(?:savepoint|(?<!\\w))${savepoint}(?!\\w)`, 'i');
  return numberOf(error) === noSavepoint && named.test((error as Error).message);
}

/** True when a demand for changed rows was not met. */
function isUnmet(error: unknown): boolean {
  return numberOf(error) === severalRows;
}

/** True of an error with which the server has undone the whole transaction because of another one. */
export function isDeadlock(error: unknown): boolean {
  return numberOf(error) === deadlock;
}

/**
 * What a handler did to its transaction.
 *
 * @param cause first statement of the handler that failed
 */
export function brokenTransaction(cause: unknown): TarefaError {
  return cause === undefined ? endedByHandler() : swallowedError(cause);
}

/** A handler has ended the transaction that it was given; here many statements do so besides COMMIT. */
function endedByHandler(): TarefaError {
  return new TarefaError(
    'TRANSACTION_BROKEN',
    'the handler itself ended the transaction of ctx.db: leave COMMIT and ROLLBACK to the queue, and statements that define tables, which commit, to other connections',
  );
}

/** Why a completion was refused; errors that say nothing of our own pass unchanged. */
export function explainRefusal(
  error: unknown,
  completion: Completion,
  savepoint: string,
  firstError: unknown,
): unknown {
  if (isUnmet(error)) return lostInTransaction(completion.id);
  return isGone(error, savepoint) ? brokenTransaction(firstError) : error;
}

/** As the server would say it. */
export function packetTooLarge(): Error {
  return Object.assign(new Error('the failures are larger than max_allowed_packet'), {
    errno: tooLarge,
    code: 'ER_NET_PACKET_TOO_LARGE',
  });
}

/** A queue without such a table was given a publication. */
export function noSubscriptions(): TarefaError {
  return new TarefaError(
    'SUBSCRIPTIONS_UNAVAILABLE',
    'a publication was inserted, but this queue has no subscriptions table: set subscriptionTable (or QUEUE_SUBSCRIBER_TABLE)',
  );
}

/**
 * What it means when a fan-out finds no table.
 *
 * @param subscriptions quoted; a trigger of somebody's may have found another one missing, and every language names it
 */
export function explainFanOut(error: unknown, subscriptions: string): unknown {
  const name = subscriptions.slice(subscriptions.lastIndexOf('.') + 1).replaceAll('`', '');
  if (numberOf(error) !== noTable || !(error as Error).message.includes(name)) return error;
  return new TarefaError(
    'SUBSCRIPTIONS_UNAVAILABLE',
    `the subscriptions table cannot be read (${(error as Error).message}): create it, or set subscriptionTable`,
    { cause: error },
  );
}
