import { TarefaError } from '../../errors.js';
import type { Completion } from '../attempt.js';
import { endedByHandler, lostInTransaction, swallowedError } from '../transaction-errors.js';

const divisionByZero = '22012';
const inFailedTransaction = '25P02';

/**
 * What a handler did to its transaction.
 *
 * @param status of the transaction as the server said last
 * @param cause first statement of the handler that failed
 */
export function brokenTransaction(status: string | null, cause: unknown): TarefaError {
  return status === 'I' ? endedByHandler() : swallowedError(cause);
}

/** Why a completion was refused; errors that say nothing of our own pass unchanged. */
export function explainRefusal(error: unknown, completion: Completion, firstError: unknown): unknown {
  const code = (error as { code?: unknown }).code;
  if (code === divisionByZero) return lostInTransaction(completion.id);
  return code === inFailedTransaction ? swallowedError(firstError) : error;
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
  const { code, where } = error as { readonly code?: unknown; readonly where?: unknown };
  // With a place inside of a function it is a trigger of somebody's that found none.
  if (code !== '42P01' || where !== undefined) return error;
  return new TarefaError(
    'SUBSCRIPTIONS_UNAVAILABLE',
    `the subscriptions table cannot be read (${(error as Error).message}): create it, or set subscriptionTable`,
    { cause: error },
  );
}
