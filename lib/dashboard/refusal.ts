import { HttpException } from '@nestjs/common';
import { TarefaError, type TarefaErrorCode } from '../errors.js';
import type { RefusalJson } from './api.js';

/** What a page is answered when something cannot be done. */
const statuses: Partial<Record<TarefaErrorCode, number>> = {
  INPUT_INVALID: 400,
  ACTION_FORBIDDEN: 403,
  TASK_NOT_FOUND: 404,
  SUBSCRIPTION_NOT_FOUND: 404,
  TASK_STATE: 409,
  SUBSCRIPTION_EXISTS: 409,
  SUBSCRIPTION_DECLARED: 409,
  PAYLOAD_INVALID: 400,
  PAYLOAD_NOT_SERIALISABLE: 400,
  PAYLOAD_TOO_LARGE: 413,
  QUEUE_BUSY: 409,
  SUBSCRIPTIONS_UNAVAILABLE: 409,
  WEBHOOK_PACKAGE_MISSING: 409,
  // Of webhooks that are off in this process.
  OPTIONS_INVALID: 409,
};

type Values = RefusalJson['values'];

/**
 * Answers the request, or refuses it with a code, a message and what it is about. What the database says is told by its code
 * only: its words may hold values of the user's.
 *
 * @param values known of the request, or found when it is refused
 * @throws {HttpException}
 */
export async function answered<T>(
  work: () => Promise<T> | T,
  values: Values | ((error: unknown) => Promise<Values>) = {},
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof HttpException) throw error;
    const { status, body } = refusalOf(error, typeof values === 'function' ? await values(error) : values);
    throw new HttpException(body, status, { cause: error });
  }
}

/** How what went wrong is told to the page, and with which status of HTTP. */
export function refusalOf(error: unknown, values: Values = {}): { status: number; body: RefusalJson } {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  if (error instanceof TarefaError)
    return {
      status: statuses[error.code] ?? 500,
      body: { code: error.code, message: String(message), values },
    };
  if (code === '57014') {
    const text = 'the database took too long: ask for less, such as a shorter time';
    return { status: 503, body: { code: 'TOOK_TOO_LONG', message: text, values } };
  }
  const reason = typeof code === 'string' ? ` (${code})` : '';
  const text = `the database did not answer as it should${reason}`;
  return { status: 503, body: { code: 'DATABASE_FAILED', message: text, values: { ...values, reason } } };
}
