import { HandlerRefusal } from './handler-refusal.js';

/** HTTP statuses for input that is wrong, and stays wrong at the next attempt. */
const wrongInput = [400, 422];
/** What Nest throws for a guard that answers no, and what guards throw themselves. */
const forbidden = [401, 403];

/** What was refused before its handler began. */
export interface RefusedCall {
  /** `Class.method`. */
  readonly name: string;
  /** Class name of the guard that was asked last, empty for one without; undefined once all have agreed. */
  readonly guard: string | undefined;
  /** Class name of the pipe that has thrown; undefined when none has. */
  readonly pipe: string | undefined;
}

/** Says of an error from before the handler who has refused, when it is a refusal; other errors stay as they are. */
export function explainRefusal(error: unknown, { name, guard, pipe }: RefusedCall): unknown {
  const status = statusOf(error);
  if (guard !== undefined && forbidden.includes(status)) {
    const who = guard === '' ? 'a guard' : `the guard ${guard}`;
    return new HandlerRefusal('HANDLER_REFUSED', `${describe(error)}: ${who} refused ${name}`, error);
  }
  // A pipe that refuses a payload refuses it again at the next attempt.
  if (!wrongInput.includes(status)) return error;
  const by = pipe ? ` by ${pipe}` : '';
  return new HandlerRefusal('PAYLOAD_INVALID', `the payload was refused${by}: ${describe(error)}`, error);
}

/** NaN for everything but an `HttpException`, which another copy of Nest may have made. */
function statusOf(error: unknown): number {
  if (typeof error !== 'object' || error === null) return Number.NaN;
  const { getStatus } = error as { getStatus?: () => unknown };
  return typeof getStatus === 'function' ? Number(getStatus.call(error)) : Number.NaN;
}

/** `ValidationPipe` answers what is wrong as a list. */
function describe(error: unknown): string {
  const { getResponse, message: own } = error as { getResponse?: () => unknown; message?: unknown };
  const response = typeof getResponse === 'function' ? getResponse.call(error) : undefined;
  const message = (response as { message?: unknown } | null | undefined)?.message ?? response;
  if (Array.isArray(message)) return message.map(String).join('; ');
  return typeof message === 'string' ? message : String(own);
}
