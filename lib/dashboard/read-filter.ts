import type { BuriedChoice, TaskFilter, TaskStateName } from '../admin/task-filter.js';
import { parseInstant } from '../values/instant.js';
import { TarefaError } from '../errors.js';
import { shownValue } from '../values/shown-value.js';

/** Parameters of a request, as Express and Fastify give them. */
export type Query = Readonly<Record<string, unknown>>;

/** What the page calls the fields of a filter. */
const readers: Readonly<Record<string, (value: string) => Partial<TaskFilter>>> = {
  status: (value) => ({ status: value.split(',') as TaskStateName[] }),
  topic: (value) => ({ topic: value === '' ? null : value }),
  subscription: (value) => ({ subscriptionId: value }),
  tenant: (value) => ({ tenant: value }),
  group: (value) => ({ group: value }),
  key: (value) => ({ externalKey: value }),
  publication: (value) => ({ publicationId: value }),
  message: (value) => ({ message: value }),
  payload: (value) => ({ payload: value }),
  since: (value) => ({ since: timeOf('since', value) }),
  until: (value) => ({ until: timeOf('until', value) }),
  dead: (value) => ({ dead: flagOf('dead', value) }),
  latest: (value) => ({ latest: flagOf('latest', value) }),
  buried: (value) => ({ buried: buriedOf(value) }),
};

/**
 * The filter that a request names; what is empty is not asked for, but an empty topic, which means tasks without one.
 *
 * @param others parameters that mean something else
 * @throws {TarefaError} `INPUT_INVALID`, also for names that mean nothing: a filter that is mistyped must not list everything
 */
export function readFilter(query: Query, others: readonly string[] = []): TaskFilter {
  let filter: TaskFilter = {};
  for (const [name, value] of Object.entries(query)) {
    if (others.includes(name)) continue;
    const read = Object.hasOwn(readers, name) ? readers[name] : undefined;
    if (!read)
      throw invalid(`unknown parameter '${name}'; the parameters are ${Object.keys(readers).join(', ')}`);
    const text = textOf(name, value);
    if (text !== '' || name === 'topic') filter = { ...filter, ...read(text) };
  }
  return filter;
}

/** One parameter as text; undefined when it is not there. */
export function readParameter(query: Query, name: string): string | undefined {
  const value = query[name];
  return value === undefined ? undefined : textOf(name, value);
}

function textOf(name: string, value: unknown): string {
  if (typeof value !== 'string') throw invalid(`${name} must be a single text`);
  if (value.includes('\0')) throw invalid(`${name} must not contain a NUL character: no stored text does`);
  return value;
}

function timeOf(name: string, value: string): Date {
  const time = parseInstant(value, { zone: 'optional' });
  if (time) return time;
  throw invalid(
    `${name} must be a time such as 2026-11-22T10:00:00Z, on a day that exists in the years 1 to 9999, not ${shownValue(value)}`,
  );
}

function flagOf(name: string, value: string): boolean {
  if (value === 'true' || value === 'false') return value === 'true';
  throw invalid(`${name} must be true or false, not '${value}'`);
}

function buriedOf(value: string): BuriedChoice {
  if (value === 'treated' || value === 'untreated') return value;
  if (value === 'true' || value === 'false') return value === 'true';
  throw invalid(`buried must be true, false, treated or untreated, not '${value}'`);
}

function invalid(message: string): TarefaError {
  return new TarefaError('INPUT_INVALID', message);
}
