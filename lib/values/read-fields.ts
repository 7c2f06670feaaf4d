import { TarefaError } from '../errors.js';
import { shownValue } from './shown-value.js';

/**
 * Reads the fields of a given object, each once: what is checked is what is used, and a getter or a
 * proxy that throws is a mistake of the input's.
 *
 * @param what it is, as messages name it: `a task`
 * @param names of the fields; inherited ones count
 * @param refuse what is said of a field of its own with another name; without it such fields are left alone. All are named at once
 * @throws {TarefaError} `INPUT_INVALID`
 */
export function readFields<Name extends string>(
  what: string,
  given: unknown,
  names: Iterable<Name>,
  refuse?: (name: string) => string,
): Readonly<Partial<Record<Name, unknown>>> {
  if (typeof given !== 'object' || given === null) {
    throw invalid(`${what} must be an object (got ${shownValue(given)})`);
  }
  const fields: Partial<Record<Name, unknown>> = {};
  let reading = 'its list of fields';
  let own: readonly string[] = [];
  let isList: boolean;
  try {
    isList = Array.isArray(given);
    if (refuse) own = Object.keys(given);
    for (const name of names) {
      reading = `'${name}'`;
      fields[name] = (given as Partial<Record<Name, unknown>>)[name];
    }
  } catch (cause) {
    throw invalid(`${what} cannot be read: it threw an error when asked for ${reading}`, cause);
  }
  if (isList) throw invalid(`${what} must be an object (got a list)`);
  const unknown = own.filter((name) => !Object.hasOwn(fields, name));
  if (refuse && unknown.length > 0) throw invalid(refusals(unknown, refuse));
  return fields;
}

/**
 * Reads a given list in the same way.
 *
 * @throws {TarefaError} `INPUT_INVALID`
 */
export function readList(what: string, given: unknown): readonly unknown[] {
  let list: readonly unknown[] | undefined;
  try {
    if (Array.isArray(given)) list = Array.from(given as readonly unknown[]);
  } catch (cause) {
    throw invalid(`${what} cannot be read: it threw an error`, cause);
  }
  if (list) return list;
  throw invalid(`${what} must be a list (got ${shownValue(given)})`);
}

/** At most so many fields of one object are told. */
const mostRefused = 10;

function refusals(unknown: readonly string[], refuse: (name: string) => string): string {
  const all = unknown.slice(0, mostRefused).map(refuse);
  if (unknown.length > mostRefused) all.push(`and ${unknown.length - mostRefused} more`);
  return all.join('; ').replaceAll('?; ', '? ');
}

function invalid(message: string, cause?: unknown): TarefaError {
  return new TarefaError(
    'INPUT_INVALID',
    message.endsWith('?') ? `${message} Nothing was done` : `${message}; nothing was done`,
    cause === undefined ? {} : { cause },
  );
}
