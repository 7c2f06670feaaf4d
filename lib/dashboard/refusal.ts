import { HttpException } from '@nestjs/common';
import { TarefaError, type TarefaErrorCode } from '../errors.js';
import type { RefusalJson } from './api.js';

/** What a page is answered when something cannot be done. */
const statuses: Partial<Record<TarefaErrorCode, number>> = {
  INPUT_INVALID: 400,
  ACTION_FORBIDDEN: 403,
  TASK_NOT_FOUND: 404,
  SUBSCRIPTION_NOT_FOUND: 404,
  SCHEDULE_NOT_FOUND: 404,
  TASK_STATE: 409,
  TASK_DUPLICATE: 409,
  SUBSCRIPTION_EXISTS: 409,
  SUBSCRIPTION_DECLARED: 409,
  PAYLOAD_INVALID: 400,
  PAYLOAD_NOT_SERIALISABLE: 400,
  PAYLOAD_TOO_LARGE: 413,
  QUEUE_BUSY: 409,
  SUBSCRIPTIONS_UNAVAILABLE: 409,
  // The database refuses it to this application, whoever asks: not a login that may not see something.
  RIGHTS_MISSING: 409,
  // Of webhooks that are off in this process.
  OPTIONS_INVALID: 409,
};

type Values = RefusalJson['values'];

/** How what went wrong is told to the page, and with which status of HTTP. */
export function refusalOf(error: unknown, values: Values = {}): { status: number; body: object } {
  if (error instanceof HttpException)
    return { status: error.getStatus(), body: error.getResponse() as object };
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  if (error instanceof TarefaError)
    return {
      status: statuses[error.code] ?? 500,
      body: { code: error.code, message: String(message), values },
    };
  if (code === '57014') {
    const text = 'the database took too long: ask for less, such as a shorter period';
    return { status: 503, body: { code: 'TOOK_TOO_LONG', message: text, values } };
  }
  const reason = typeof code === 'string' ? ` (${code})` : '';
  const text = `the database query failed${reason}`;
  return { status: 503, body: { code: 'DATABASE_FAILED', message: text, values: { ...values, reason } } };
}
