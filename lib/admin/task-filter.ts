import { readTenant } from '../client/task-input.js';
import { readInstant } from '../values/instant.js';
import { TarefaError } from '../errors.js';
import { readFields, readList } from '../values/read-fields.js';
import { shownValue } from '../values/shown-value.js';
import { readId } from '../values/attempt-id.js';
import { taskStates } from '../storage/columns.js';
import type { BuriedChoice } from '../storage/buried.js';
import type { TaskSelection, TaskStateName } from '../storage/task-selection.js';

export type { BuriedChoice, TaskStateName };

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
  /**
   * True for tasks that gave up only, as they stand now: they ran out of attempts, or were buried, and were not retried since.
   * `treated`: those of them that a dead handler has dealt with; `untreated`: those that none has, or none yet.
   */
  readonly buried?: BuriedChoice | undefined;
  /** Attempts of these tasks, at most 1,000, each named by the id of any of its attempts. */
  readonly ids?: readonly string[] | undefined;
}

/**
 * Reads a filter, each field checked.
 *
 * @throws {TarefaError} `INPUT_INVALID`
 */
export function readSelection(filter: TaskFilter): TaskSelection {
  const { status, topic, tenant, publicationId, since, until, ids, ...rest } = readFields(
    'a filter',
    filter,
    fieldNames,
    refuseUnknown,
  );
  const { subscriptionId, externalKey, group, message, payload, dead, latest, buried } = rest;
  return {
    states: read(status, (given) => readStates(typeof given === 'string' ? [given] : given)),
    topic: topic === null ? null : readWord('topic', topic),
    subscriptionId: readWord('subscriptionId', subscriptionId),
    externalKey: readWord('externalKey', externalKey),
    tenant: read(tenant, readTenantText),
    group: readWord('group', group),
    publicationId: read(publicationId, readId),
    since: read(since, (given) => readTime('since', given)),
    until: read(until, (given) => readTime('until', given)),
    ids: read(ids, readTaskIds),
    dead: readFlag('dead', dead),
    message: readWord('message', message),
    payload: readWord('payload', payload),
    latest: readFlag('latest', latest),
    buried: readBuried(buried),
  };
}

function read<Value>(given: unknown, how: (given: unknown) => Value): Value | undefined {
  return given === undefined ? undefined : how(given);
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
function refuseUnknown(name: string): string {
  return `tasks cannot be listed by '${name.slice(0, 100)}'; filter by ${fieldNames.join(', ')}`;
}

const mostIds = 1_000;

/** @throws {TarefaError} `INPUT_INVALID` */
function readTenantText(given: unknown): string {
  const tenant = readTenant(given);
  if (tenant !== null) return tenant;
  throw invalid('tenant must be a whole number, not null');
}

/** @throws {TarefaError} `INPUT_INVALID` */
export function readTaskIds(given: unknown): readonly string[] {
  const ids = readList('ids', given).map(readId);
  if (ids.length <= mostIds) return ids;
  throw invalid(`at most ${mostIds} ids can be given, not ${ids.length}: select more tasks with a filter`);
}

/** @throws {TarefaError} `INPUT_INVALID` */
function readStates(given: unknown): readonly TaskStateName[] {
  return readList('the statuses', given).map((state) => {
    const name = taskStates.find((one) => one === state);
    if (name) return name;
    throw invalid(`${shownValue(state)} is not a status; the statuses are ${taskStates.join(', ')}`);
  });
}

/** Text to compare with that of a column; a longer one than the column takes is simply not there. */
function readWord(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw invalid(`${name} must be text, not ${shownValue(value)}`);
  if (value.includes('\0')) throw invalid(`${name} must not contain a NUL character: no stored text does`);
  return value;
}

/** @throws {TarefaError} `INPUT_INVALID` */
export function readFlag(name: string, value: unknown): boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return value;
  throw invalid(`${name} must be true or false, not ${shownValue(value)}`);
}

function readBuried(value: unknown): BuriedChoice | undefined {
  if (value === undefined || typeof value === 'boolean') return value;
  if (value === 'treated' || value === 'untreated') return value;
  throw invalid(`buried must be true, false, 'treated' or 'untreated', not ${shownValue(value)}`);
}

function invalid(message: string): TarefaError {
  return new TarefaError('INPUT_INVALID', message);
}
