import { HttpException } from '@nestjs/common';
import { TarefaError, type TarefaErrorCode } from '../queue.errors.js';
import type { RefusalJson } from './api.js';

/** What a page is answered when something cannot be done. */
const statuses: Partial<Record<TarefaErrorCode, number>> = {
  INPUT_INVALID: 400,
  ACTION_FORBIDDEN: 403,
  TASK_NOT_FOUND: 404,
  SUBSCRIPTION_NOT_FOUND: 404,
  TASK_STATE: 409,
  SUBSCRIPTIONS_UNAVAILABLE: 409,
  WEBHOOK_PACKAGE_MISSING: 409,
  // Of webhooks that are off in this process.
  OPTIONS_INVALID: 409,
};

/**
 * Answers the request, or refuses it with a code and a message. What the database says is told by its code only: its words may
 * hold values of the user's.
 *
 * @throws {HttpException}
 */
export async function answered<T>(work: () => Promise<T> | T): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw refusalOf(error);
  }
}

function refusalOf(error: unknown): unknown {
  if (error instanceof HttpException) return error;
  if (error instanceof TarefaError)
    return refused(statuses[error.code] ?? 500, error.code, error.message, error);
  if (hasDatabaseCode(error, '57014')) {
    return refused(
      503,
      'TOOK_TOO_LONG',
      'the database took too long: ask for less, such as a shorter time',
      error,
    );
  }
  const { code } = (error ?? {}) as { readonly code?: unknown };
  const said = typeof code === 'string' ? ` (${code})` : '';
  return refused(503, 'DATABASE_FAILED', `the database did not answer as it should${said}`, error);
}

function hasDatabaseCode(error: unknown, code: string): boolean {
  return (error as { readonly code?: unknown } | null)?.code === code;
}

function refused(status: number, code: string, message: string, cause: unknown): HttpException {
  const body: RefusalJson = { code, message };
  return new HttpException(body, status, { cause });
}
