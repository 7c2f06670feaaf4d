import { readTenant } from '../client/task-input.js';
import { readInstant } from '../values/instant.js';
import { TarefaError } from '../errors.js';
import { readFields, readList } from '../values/read-fields.js';
import { shownValue } from '../values/shown-value.js';
import type { QueueTables } from '../storage/postgres/identifiers.js';
import { isBuried, stateCondition, taskStates } from '../storage/columns.js';

/** What tasks can be asked for by: a status, or `retrying`; see {@link TaskState}. */
export type TaskStateName = (typeof taskStates)[number];

/** Which attempts to list; what is left out is not asked for. */
export interface TaskFilter {
  readonly status?: TaskStateName | readonly TaskStateName[] | undefined;
  /** Null: tasks without one. */
  readonly topic?: string | null | undefined;
  readonly subscriptionId?: string | undefined;
  readonly externalKey?: string | undefined;
  readonly tenant?: string | number | bigint | undefined;
  readonly group?: string | undefined;
  /** Deliveries of this publication. */
  readonly publicationId?: string | undefined;
  /** Due at that time or later. */
  readonly since?: Date | undefined;
  /** Due before that time. */
  readonly until?: Date | undefined;
  /** True for attempts of dead chains only, false for the others only. */
  readonly dead?: boolean | undefined;
  /** Text that the message holds, in any case. */
  readonly message?: string | undefined;
  /**
   * Text that the payload holds, in any case; of a delivery, that its whole envelope does. Payloads of more than 64 KiB are
   * passed over.
   */
  readonly payload?: string | undefined;
  /** True for the last attempt of each task only: as the task stands now. */
  readonly latest?: boolean | undefined;
  /** True for tasks that were lost only, as they stand now: they ran out of attempts, or were buried, and were not retried since. */
  readonly buried?: boolean | undefined;
  /** Attempts of these tasks, at most 1,000, each named by the id of any of its attempts. */
  readonly ids?: readonly string[] | undefined;
}

/** The conditions of a filter in SQL, and their parameters. */
export interface FilterSql {
  readonly conditions: readonly string[];
  readonly values: readonly unknown[];
}

/**
 * @param first number of the first parameter
 * @throws {TarefaError} `INPUT_INVALID`
 */
export function filterSql(
  filter: TaskFilter,
  first: number,
  { queue }: Pick<QueueTables, 'queue'>,
): FilterSql {
  const conditions: string[] = [];
  const values: unknown[] = [];
  const add = (condition: (parameter: string) => string, value: unknown): void => {
    conditions.push(condition(`$${first + values.length}`));
    values.push(value);
  };
  const {
    status,
    topic,
    subscriptionId,
    externalKey,
    tenant,
    group,
    publicationId,
    since,
    until,
    dead,
    message,
    payload,
    latest,
    buried,
    ids,
  } = readFields('a filter', filter, fieldNames, refuseUnknown);
  if (status !== undefined) {
    conditions.push(stateCondition('f', readStates(typeof status === 'string' ? [status] : status)));
  }
  if (topic === null) conditions.push(`coalesce(f.processo, '') = ''`);
  else if (topic !== undefined)
    add((parameter) => `f.processo = ${parameter}::text`, readWord('topic', topic));
  if (subscriptionId !== undefined)
    add((parameter) => `f.subscriber_id = ${parameter}::text`, readWord('subscriptionId', subscriptionId));
  if (externalKey !== undefined)
    add((parameter) => `f.chave_externa = ${parameter}::text`, readWord('externalKey', externalKey));
  if (tenant !== undefined) add((parameter) => `f.tenant = ${parameter}::text::bigint`, readTenant(tenant));
  if (group !== undefined)
    add((parameter) => `f.grupo_empresarial = ${parameter}::text`, readWord('group', group));
  if (publicationId !== undefined) {
    add((parameter) => `f.publication_id = ${parameter}::text::bigint`, readId(publicationId));
  }
  if (since !== undefined)
    add((parameter) => `f.data_hora >= ${parameter}::text::timestamptz`, readTime('since', since));
  if (until !== undefined)
    add((parameter) => `f.data_hora < ${parameter}::text::timestamptz`, readTime('until', until));
  if (ids !== undefined) add((parameter) => isOfTasks(queue, parameter), readTaskIds(ids));
  if (dead !== undefined) conditions.push(readFlag('dead', dead) ? 'f.dead' : 'not f.dead');
  if (message !== undefined) {
    add((parameter) => `f.mensagem ilike ${parameter}::text`, patternOf(readWord('message', message)));
  }
  if (payload !== undefined) {
    const text = readWord('payload', payload);
    add(
      (parameter) => payloadHolds(queue, parameter),
      [text, JSON.stringify(text).slice(1, -1)].map(patternOf),
    );
  }
  if (latest !== undefined && readFlag('latest', latest)) conditions.push('f.reenfileirado is not true');
  if (buried !== undefined) {
    conditions.push(readFlag('buried', buried) ? isBuried('f') : `${isBuried('f')} is not true`);
  }
  return { conditions, values };
}

/** What the column of ids can hold. Sequences begin at 1, but SQL may insert any of them. */
export const [leastId, greatestId] = [-(2n ** 63n), 2n ** 63n - 1n];

/** Below the least id there is none. */
export function idBelow(id: bigint): bigint {
  return id > leastId ? id - 1n : leastId;
}

function isId(number: bigint): boolean {
  return number >= leastId && number <= greatestId;
}

/** @throws {TarefaError} `INPUT_INVALID` */
export function readId(id: unknown): string {
  if (typeof id === 'string' && /^-?\d{1,19}$/.test(id) && isId(BigInt(id))) return id;
  throw invalid(`${shownValue(id)} is no id of an attempt: ids are whole numbers as text`);
}

/**
 * A time to compare with those of the table.
 *
 * @throws {TarefaError} `INPUT_INVALID`
 */
export function readTime(name: string, time: unknown): string {
  const date = readInstant(time);
  if (date) return date.toISOString();
  throw invalid(`${name} must be a Date in the years 1 to 9999, not ${shownValue(time)}`);
}

const known: Readonly<Record<keyof TaskFilter, true>> = {
  status: true,
  topic: true,
  subscriptionId: true,
  externalKey: true,
  tenant: true,
  group: true,
  publicationId: true,
  since: true,
  until: true,
  dead: true,
  message: true,
  payload: true,
  latest: true,
  buried: true,
  ids: true,
};
const fieldNames = Object.keys(known) as readonly (keyof TaskFilter)[];

/** A condition that is mistyped must not list everything. */
function refuseUnknown(name: string): string | undefined {
  if (Object.hasOwn(known, name)) return undefined;
  return `tasks cannot be listed by '${name.slice(0, 100)}'; they can by ${fieldNames.join(', ')}`;
}

/** Larger payloads are not searched. */
const largestSearchedBytes = 65_536;
const mostIds = 1_000;

/** Parameter: patterns for a payload as it is, and for one that is text in the JSON of a delivery. */
const payloadHolds = (queue: string, patterns: string): string => `exists (
    select from (
      select coalesce(f.payload, (select first.payload from ${queue} first where first.id = f.id_inicial)) as payload
      offset 0
    ) own
    where octet_length(own.payload) <= ${largestSearchedBytes}
      and own.payload ilike (${patterns}::text[])[case when f.subscriber_id is null then 1 else 2 end]
  )`;

/** Parameter: ids of attempts. */
const isOfTasks = (queue: string, ids: string): string => {
  const firstIds = `array(select coalesce(a.id_inicial, a.id) from ${queue} a where a.id = any(${ids}::text[]::bigint[]))`;
  return `(f.id = any(${firstIds}) or f.id_inicial = any(${firstIds}))`;
};

function patternOf(text: string): string {
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`;
}

/** @throws {TarefaError} `INPUT_INVALID` */
function readTaskIds(given: unknown): readonly string[] {
  const ids = readList('ids', given).map(readId);
  if (ids.length <= mostIds) return ids;
  throw invalid(`ids may be at most ${mostIds}, not ${ids.length}: choose more tasks by a filter`);
}

/** @throws {TarefaError} `INPUT_INVALID` */
function readStates(given: unknown): readonly TaskStateName[] {
  return readList('the statuses', given).map((state) => {
    const name = taskStates.find((one) => one === state);
    if (name) return name;
    throw invalid(`${shownValue(state)} is no status; the statuses are ${taskStates.join(', ')}`);
  });
}

/** Text to compare with that of a column; a longer one than the column takes is simply not there. */
function readWord(name: string, value: unknown): string {
  if (typeof value !== 'string') throw invalid(`${name} must be text, not ${shownValue(value)}`);
  if (value.includes('\0')) throw invalid(`${name} must not hold a NUL character: no text of the table does`);
  return value;
}

function readFlag(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw invalid(`${name} must be true or false, not ${shownValue(value)}`);
}

function invalid(message: string): TarefaError {
  return new TarefaError('INPUT_INVALID', message);
}
