import { cleanMessage } from '../../values/failure-text.js';
import { writeJson } from '../../values/json-writing.js';

/** What a handler returned, as it is recorded. */
export interface RecordedReturn {
  readonly message: string;
  readonly result: string | null;
  /** Why the result is not recorded; undefined where it is, or there is none. */
  readonly problem?: string | undefined;
}

/** What is recorded when a handler returns nothing. */
const defaultMessage = 'completed';

/** The completion recorded for an attempt of which only its success is known. */
export const nothingReturned: RecordedReturn = { message: defaultMessage, result: null };

/**
 * Reads a handler's return value: nothing, a message, or a result. The work is done, so what cannot be recorded must not
 * undo or repeat it: the message then says why. Never throws.
 */
export function readReturn(value: unknown, maxBytes: number): RecordedReturn {
  if (value === undefined || value === null) return nothingReturned;
  if (typeof value === 'string') return { message: cleanMessage(value), result: null };
  const written = writeJson(value);
  if ('problem' in written) return notRecorded(written.problem);
  const bytes = Buffer.byteLength(written.text);
  if (bytes > maxBytes) return notRecorded(`has ${bytes} bytes, more than maxPayloadBytes (${maxBytes})`);
  return { message: defaultMessage, result: written.text };
}

/** Of a result that was not recorded, and why: `has 2000000 bytes`. */
export function notRecorded(why: string): RecordedReturn {
  const problem = cleanMessage(`result not recorded: it ${why}`.replace(/\s+/g, ' '));
  return { message: problem, result: null, problem };
}
