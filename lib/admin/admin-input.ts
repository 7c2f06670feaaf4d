import { TarefaError } from '../errors.js';
import { nearest } from '../values/nearest.js';
import { readFields } from '../values/read-fields.js';
import { shownValue } from '../values/shown-value.js';
import { columnLength } from '../storage/columns.js';

// What operators hand over, checked before the database is asked: its own errors name neither field nor value.

/** What Node's timers take. */
export const longestWaitMs = 2 ** 31 - 1;
/** A hundred years. */
export const longestAgeMs = 100 * 365 * 86_400_000;

/** A reason, as the message column takes it. */
export function messageOf(reason: unknown): string {
  if (typeof reason !== 'string') throw invalid(`reason must be text, not ${shownValue(reason)}`);
  return Array.from(reason.replaceAll('\0', '')).slice(0, columnLength.message).join('');
}

/** The options of a call, each read once. */
export function readOptions<Name extends string>(
  given: unknown,
  names: readonly Name[],
): Readonly<Partial<Record<Name, unknown>>> {
  return readFields('the options', given, names, (name) => {
    const near = nearest(name, names);
    const hint = near === undefined ? `the options are ${names.join(', ')}` : `did you mean '${near}'?`;
    return `unknown option '${name.slice(0, 100)}': ${hint}`;
  });
}

/** @throws {TarefaError} `INPUT_INVALID` */
export function readDuration(name: string, value: unknown, longestMs: number): number {
  if (typeof value === 'number' && value >= 0 && value <= longestMs) return value;
  throw invalid(`${name} must be a number of milliseconds from 0 to ${longestMs}, not ${shownValue(value)}`);
}

/** @throws {TarefaError} `INPUT_INVALID` */
export function readCount(name: string, value: unknown, most: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw invalid(`${name} must be a whole number from 1 to ${most}, not ${shownValue(value)}`);
}

function invalid(message: string): TarefaError {
  return new TarefaError('INPUT_INVALID', message);
}
