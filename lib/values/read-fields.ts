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
  refuse?: (name: string) => string | undefined,
): Readonly<Partial<Record<Name, unknown>>> {
  if (typeof given !== 'object' || given === null) {
    throw invalid(`${what} must be an object (got ${shownValue(given)})`);
  }
  const fields: Partial<Record<Name, unknown>> = {};
  let reading = 'its list of fields';
  const problems: string[] = [];
  try {
    if (Array.isArray(given)) problems.push(`${what} must be an object (got a list)`);
    else if (refuse) problems.push(...Object.keys(given).flatMap((name) => refuse(name) ?? []));
    for (const name of names) {
      reading = `'${name}'`;
      fields[name] = (given as Partial<Record<Name, unknown>>)[name];
    }
  } catch (cause) {
    throw invalid(`${what} cannot be read: it threw an error when asked for ${reading}`, cause);
  }
  if (problems.length > 0) throw invalid(listed(problems));
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

/** At most so many problems of one object are told. */
const mostProblems = 10;

function listed(problems: readonly string[]): string {
  const more = problems.length - mostProblems;
  const shown = more > 0 ? [...problems.slice(0, mostProblems), `and ${more} more`] : problems;
  return shown.join('; ').replaceAll('?; ', '? ');
}

function invalid(message: string, cause?: unknown): TarefaError {
  return new TarefaError(
    'INPUT_INVALID',
    message.endsWith('?') ? `${message} Nothing was done` : `${message}; nothing was done`,
    cause === undefined ? {} : { cause },
  );
}
