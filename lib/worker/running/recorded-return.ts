import { TarefaError } from '../../errors.js';
import { cleanMessage, withoutNul } from '../../values/failure-text.js';

/** What a handler returned, as it is recorded. */
export interface RecordedReturn {
  readonly message: string;
  readonly result: string | null;
}

/** What is recorded when a handler returns nothing. */
const defaultMessage = 'completed';

/** The completion recorded for an attempt of which only its success is known. */
export const nothingReturned: RecordedReturn = { message: defaultMessage, result: null };

/**
 * Reads a handler's return value: nothing, a message, or a result.
 *
 * @throws {TarefaError} `PAYLOAD_NOT_SERIALISABLE`, `PAYLOAD_TOO_LARGE`
 */
export function readReturn(value: unknown, maxBytes: number): RecordedReturn {
  if (value === undefined || value === null) return nothingReturned;
  if (typeof value === 'string') return { message: cleanMessage(value), result: null };
  const result = stringify(value);
  if (Buffer.byteLength(result) > maxBytes) {
    throw new TarefaError(
      'PAYLOAD_TOO_LARGE',
      `the handler's result has ${Buffer.byteLength(result)} bytes, more than maxPayloadBytes (${maxBytes})`,
    );
  }
  return { message: defaultMessage, result };
}

function stringify(value: unknown): string {
  try {
    const text = JSON.stringify(value) as string | undefined;
    if (text !== undefined) return withoutNul(text);
  } catch (cause) {
    throw new TarefaError(
      'PAYLOAD_NOT_SERIALISABLE',
      `the handler's return value cannot be written as JSON: ${String(cause)}`,
      { cause },
    );
  }
  throw new TarefaError(
    'PAYLOAD_NOT_SERIALISABLE',
    `the handler returned a ${typeof value}, which cannot be written as JSON`,
  );
}
