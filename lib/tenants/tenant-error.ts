import { TarefaError } from '../errors.js';

/** A tenant's database, or what leads to it, cannot be used. */
export function unavailable(what: string, cause?: unknown): TarefaError {
  return new TarefaError('TENANT_UNAVAILABLE', what, cause === undefined ? undefined : { cause });
}

/** A tenant's database has refused: to ask again at once would bring the same answer, or lock the account. */
export class TenantRefusal extends TarefaError {
  constructor(what: string, cause?: unknown) {
    super('TENANT_UNAVAILABLE', what, cause === undefined ? undefined : { cause });
  }
}

/** The errors of a resolver that steer the queue: they have to arrive as they are. */
const steering = new Set(['UnrecoverableError', 'RetryIn', 'RetryAt', 'Snooze']);

/** True for what tells the queue when, or whether, to try again. */
export function isSteering(error: unknown): boolean {
  return error instanceof Error && steering.has(error.name);
}

/** A host with several addresses fails with an error for each, and no message of its own. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0)
    return error.errors.map(messageOf).join('; ');
  return error instanceof Error ? error.message || error.name : String(error);
}

/** A statement that comes when its handler is over. */
export function usedAfterEnd(): TarefaError {
  return new TarefaError(
    'TASK_ENDED',
    'the database of the tenant was used after the handler had ended: await every call inside the handler',
  );
}
