import type { TaskFilter } from '../admin/task-filter.js';
import { TarefaError } from '../queue.errors.js';
import type { TaskStatus } from '../task.js';

/** Parameters of a request, as Express and Fastify give them. */
export type Query = Readonly<Record<string, unknown>>;

/** What the page calls the fields of a filter. */
const readers: Readonly<Record<string, (value: string) => Partial<TaskFilter>>> = {
  status: (value) => ({ status: value.split(',') as TaskStatus[] }),
  topic: (value) => ({ topic: value === '' ? null : value }),
  subscription: (value) => ({ subscriptionId: value }),
  tenant: (value) => ({ tenant: value }),
  group: (value) => ({ group: value }),
  key: (value) => ({ externalKey: value }),
  publication: (value) => ({ publicationId: value }),
  message: (value) => ({ message: value }),
  since: (value) => ({ since: timeOf('since', value) }),
  until: (value) => ({ until: timeOf('until', value) }),
  dead: (value) => ({ dead: flagOf('dead', value) }),
  latest: (value) => ({ latest: flagOf('latest', value) }),
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
    if (!read) throw invalid(`there is no parameter '${name}'; there are ${Object.keys(readers).join(', ')}`);
    if (typeof value !== 'string') throw invalid(`${name} must be one text`);
    if (value !== '' || name === 'topic') filter = { ...filter, ...read(value) };
  }
  return filter;
}

/** One parameter as text; undefined when it is not there. */
export function readParameter(query: Query, name: string): string | undefined {
  const value = query[name];
  if (value === undefined) return undefined;
  if (typeof value === 'string') return value;
  throw invalid(`${name} must be one text`);
}

function timeOf(name: string, value: string): Date {
  const time = new Date(value);
  if (Number.isNaN(time.getTime()))
    throw invalid(`${name} must be a time such as 2026-11-22T10:00:00Z, not '${value}'`);
  return time;
}

function flagOf(name: string, value: string): boolean {
  if (value === 'true' || value === 'false') return value === 'true';
  throw invalid(`${name} must be true or false, not '${value}'`);
}

function invalid(message: string): TarefaError {
  return new TarefaError('INPUT_INVALID', message);
}
