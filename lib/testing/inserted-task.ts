import { isDeepStrictEqual } from 'node:util';
import { encodePayload, readTenant } from '../client/task-input.js';
import { TarefaError } from '../errors.js';
import { decodeText } from '../values/stored-text.js';
import type { JsonObject, TaskRecord } from '../task.js';

/** A task as it was inserted, and how it stands now. */
export interface InsertedTask extends TaskRecord {
  /** Its payload as a handler gets it. */
  readonly data: unknown;
}

/** What an inserted task must be like; what is left out does not matter. */
export interface InsertedMatch {
  readonly topic?: string | null | undefined;
  /** Equal to this, as handlers get it. */
  readonly payload?: unknown;
  readonly externalKey?: string | null | undefined;
  readonly origin?: string | null | undefined;
  readonly destination?: string | null | undefined;
  readonly tenant?: string | number | bigint | null | undefined;
  readonly group?: string | null | undefined;
  readonly priority?: number | undefined;
  readonly metadata?: JsonObject | null | undefined;
  /** True for publications only, false for the others only. */
  readonly publication?: boolean | undefined;
}

const readers: Readonly<Record<keyof InsertedMatch, (task: InsertedTask) => unknown>> = {
  topic: ({ topic }) => topic,
  payload: ({ data }) => data,
  externalKey: ({ externalKey }) => externalKey,
  origin: ({ origin }) => origin,
  destination: ({ destination }) => destination,
  tenant: ({ tenant }) => tenant,
  group: ({ group }) => group,
  priority: ({ priority }) => priority,
  metadata: ({ metadata }) => metadata,
  publication: ({ publication }) => publication,
};

export function asInserted(task: TaskRecord): InsertedTask {
  return { ...task, data: decodeText(task.payload, 'json') };
}

/** @throws {TarefaError} `INPUT_INVALID` for a condition that does not exist */
export function matcher(match: InsertedMatch): (task: InsertedTask) => boolean {
  const conditions = Object.entries(match).flatMap(([name, value]) => {
    if (!Object.hasOwn(readers, name)) throw unknownCondition(name);
    return value === undefined
      ? []
      : [[readers[name as keyof InsertedMatch], expected(name, value)] as const];
  });
  return (task) => conditions.every(([read, value]) => isDeepStrictEqual(read(task), value));
}

/** What the queue makes of the value on its way to the table and back. */
function expected(name: string, value: unknown): unknown {
  if (name === 'payload') return decodeText(encodePayload(value, Infinity), 'json');
  return name === 'tenant' ? readTenant(value) : value;
}

function unknownCondition(name: string): TarefaError {
  const known = Object.keys(readers).join(', ');
  return new TarefaError('INPUT_INVALID', `an inserted task has no '${name}' to match; match by ${known}`);
}
