import { TarefaError } from '../../../errors.js';
import { isConnectionError } from '../mysql-errors.js';

/** Lets the layers above see a lost connection without knowing the driver. */
export function rethrowConnectionError(error: unknown): never {
  if (!isConnectionError(error)) throw error;
  throw new TarefaError('CONNECTION_LOST', `the database did not answer: ${messageOf(error)}`, {
    cause: error,
  });
}

/** A host with several addresses fails with an error for each, and no message of its own. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ');
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { readonly code?: unknown };
  return error.message || (typeof code === 'string' ? code : error.name);
}
