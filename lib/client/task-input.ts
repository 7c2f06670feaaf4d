import { hash } from 'node:crypto';
import { parseInstant, readInstant } from '../values/instant.js';
import { membersWithLargeNumbers } from '../values/json-numbers.js';
import { writeJson } from '../values/stored-text.js';
import { nearest } from '../values/nearest.js';
import { ownRuleNames, ownRules } from '../values/own-rules.js';
import type { Fixed, Json, NotJson, QueueTopics, TopicName, TopicPayload } from '../values/queue-topics.js';
import { TarefaError } from '../errors.js';
import { readFields } from '../values/read-fields.js';
import { shownValue } from '../values/shown-value.js';
import { columnLength } from '../storage/columns.js';
import type { NewTask } from '../storage/inserts.js';
import type { JsonObject } from '../task.js';
import { readUnique, type UniqueTask } from './unique-task.js';

/** A task to insert. Every field may be omitted; the table's defaults then apply. */
export interface TaskInput<Topic extends TopicName = TopicName, Payload = TopicPayload<Topic>> {
  /** Type of task, by which handlers and subscriptions are found. At most 250 characters. */
  readonly topic?: Topic | null | undefined;
  /**
   * What the handler gets. Text is stored as it is, an object as JSON, anything else as its text. At most
   * `maxPayloadBytes` bytes of UTF-8.
   */
  readonly payload?: Payload | undefined;
  /** The producer's own id, such as an order number. A task without one is equivalent to no other. */
  readonly externalKey?: string | null | undefined;
  /** Sender, free text of at most 150 characters. */
  readonly origin?: string | null | undefined;
  /** Receiver, free text of at most 150 characters. */
  readonly destination?: string | null | undefined;
  /** A whole number of at most 63 bits; text where it exceeds 2^53. */
  readonly tenant?: string | number | bigint | null | undefined;
  /** At most 40 characters. */
  readonly group?: string | null | undefined;
  /** Larger runs first. Default 50. */
  readonly priority?: number | null | undefined;
  /**
   * When the first attempt is due. Default: now. Text is ISO 8601 with its time zone, and may be finer than the
   * milliseconds of a `Date`: `2026-07-01T10:00:00.123456Z`.
   */
  readonly runAt?: Date | string | null | undefined;
  /** Instead of `runAt`: ms from now, by the database's clock; at most 100 years. */
  readonly delayMs?: number | null | undefined;
  /**
   * Attempts that this task may have, in place of its handler's `maxAttempts`; of a publication: each of its deliveries. Kept in
   * its metadata as `tarefa:maxAttempts`, so that SQL can say it as well. Dead handlers have their own.
   */
  readonly maxAttempts?: number | null | undefined;
  /** Ms that each attempt of this task may take, in place of its handler's `timeoutMs`. Kept as `tarefa:timeoutMs`. */
  readonly timeoutMs?: number | null | undefined;
  /**
   * A key that one task of the queue has at a time: {@link UniqueTask}, or the text of its `key`. Enforced by the table, so it holds
   * for all programs, and inside your transaction.
   */
  readonly unique?: string | UniqueTask | null | undefined;
  /** Kept beside the payload and shown in `ctx.task.metadata`: an object of at most 1 MiB as JSON, in 500 levels. */
  readonly metadata?: JsonObject | null | undefined;
}

/**
 * A task as it is inserted: with the payload of its topic where that is listed, else with any that JSON can hold. The payload
 * is inferred from {@link TaskInput} alone, and a union stays whole.
 */
export type InsertedTask<Topic extends TopicName, Payload> = [Topic] extends [keyof QueueTopics]
  ? TaskInput<Topic, Json<QueueTopics[Topic]>>
  : TaskInput<Topic, Payload> & { readonly payload?: Json<Fixed<Payload>> | undefined };

/** Many tasks, all with payloads that JSON can hold and without unknown fields. */
export type JsonTasks<Tasks extends readonly unknown[]> = {
  readonly [Index in keyof Tasks]: {
    readonly [Field in keyof Tasks[Index]]: Field extends 'payload'
      ? Json<Tasks[Index][Field]>
      : Field extends keyof TaskInput
        ? Tasks[Index][Field]
        : NotJson<'a task has no such field'>;
  };
};

/** The name of a field of {@link TaskInput}. */
type TaskField = keyof TaskInput;
/** A task as a program gave it, unchecked. */
type GivenTask = Readonly<Partial<Record<TaskField, unknown>>>;

/** Names of the fields of {@link TaskInput}. */
const fieldNames: readonly TaskField[] = [
  'topic',
  'payload',
  'externalKey',
  'origin',
  'destination',
  'tenant',
  'group',
  'priority',
  'runAt',
  'delayMs',
  'maxAttempts',
  'timeoutMs',
  'unique',
  'metadata',
];
/** Names of the fields of a task, for look-ups. */
export const taskFields: ReadonlySet<string> = new Set(fieldNames);

const largestTenant = 2n ** 63n - 1n;
/** Longer numbers exceed 63 bits, and are slow to read. */
const wholeNumber = /^\s{0,9}[+-]?\d{1,40}\s{0,9}$/;
const largestPriority = 2 ** 31 - 1;
const longestDelayMs = 100 * 365 * 86_400_000;

/** Limits under which a `jsonb` column runs out of neither stack nor space. */
const largestMetadata = 1_048_576;
const deepestMetadata = 500;

/** Escapes in JSON that `jsonb` refuses: NUL and lone surrogates. */
const refusedEscape = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;

/**
 * Checks a task and encodes it for the table.
 *
 * @throws {TarefaError} `INPUT_INVALID`, `PAYLOAD_TOO_LARGE`, `PAYLOAD_NOT_SERIALISABLE`
 */
export function encodeTask(input: TaskInput, publication: boolean, maxPayloadBytes: number): NewTask {
  const given = readTaskFields(input);
  const topic = readText('topic', given.topic, columnLength.topic);
  if (publication && !topic)
    throw invalid(
      'topic',
      given.topic,
      'must be given: a publication reaches the subscriptions of its topic',
    );
  const payload = encodePayload(given.payload, maxPayloadBytes);
  const { dueAt, delayMs } = readDue(given);
  return {
    dueAt,
    delayMs,
    origin: readText('origin', given.origin, columnLength.origin),
    destination: readText('destination', given.destination, columnLength.destination),
    topic,
    externalKey: readText('externalKey', given.externalKey, columnLength.externalKey),
    payload,
    payloadHash: hashPayload(payload),
    tenant: given.tenant == null ? null : readTenant(given.tenant),
    group: readText('group', given.group, columnLength.group),
    priority: given.priority == null ? null : readPriority(given.priority),
    publication,
    metadata: withOwnRules(given.metadata == null ? null : readMetadata(given.metadata), given),
    unique: given.unique == null ? null : readUnique(given.unique),
  };
}

/**
 * Reads a task's fields and the given others, each once.
 *
 * @throws {TarefaError} `INPUT_INVALID`
 */
export function readTaskFields<Other extends string = never>(
  input: unknown,
  others: readonly Other[] = [],
): GivenTask & Readonly<Partial<Record<Other, unknown>>> {
  const names: readonly (TaskField | Other)[] = others.length === 0 ? fieldNames : [...fieldNames, ...others];
  if (typeof input === 'string')
    throw invalid('a task', input, 'must be an object such as { topic, payload }');
  return readFields(
    'a task',
    input,
    names,
    (field) => `a task has no field '${field.slice(0, 100)}'${hintOf(field, names)}`,
  ) as GivenTask & Readonly<Partial<Record<Other, unknown>>>;
}

/** Words of BullMQ for what is not said at an insert. */
const saidElsewhere: ReadonlyMap<string, string> = new Map(
  [
    { words: ['repeat', 'cron', 'every'], text: 'use @Recurring or QueueAdmin.schedules' },
    {
      words: ['removeOnComplete', 'removeOnFail'],
      text: 'purgeMaxAgeDays of the queue sets how long finished tasks are kept',
    },
    { words: ['opts'], text: 'give its fields next to the topic' },
  ].flatMap(({ words, text }) => words.map((word) => [word, text] as const)),
);

/** What else a field that tasks do not have may be: `: did you mean 'topic'?`, or nothing. */
export function hintOf(field: string, names: readonly string[]): string {
  const name = field.slice(0, 100);
  const near = nearest(name, names);
  if (near !== undefined) return `: did you mean '${near}'?`;
  if (nearest(name, ['retryDelayMs']) !== undefined)
    return `: set it on the handler, as in @TaskHandler('topic', { retryDelayMs })`;
  const elsewhere = saidElsewhere.get(name);
  return elsewhere === undefined ? '' : `: ${elsewhere}`;
}

/** The stored text of a payload. Its size is checked first. */
export function encodePayload(payload: unknown, maxBytes: number): string | null {
  if (payload === undefined || payload === null) return null;
  const written = typeof payload === 'object' ? writeJson(payload) : { text: toText(payload) };
  if ('problem' in written) throw notSerialisable(written.problem, written.cause);
  const { text } = written;
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) {
    throw new TarefaError(
      'PAYLOAD_TOO_LARGE',
      `the payload has ${bytes} bytes, more than maxPayloadBytes (${maxBytes}); nothing was inserted`,
    );
  }
  if (text.includes('\0')) {
    throw invalid('payload', 'text with a NUL character', 'cannot be stored as PostgreSQL text');
  }
  return text;
}

/** SHA-256 of a payload's UTF-8 bytes in hexadecimal; null for an empty one, which is equivalent to none. */
export function hashPayload(payload: string | null): string | null {
  return payload ? hash('sha256', payload) : null;
}

export function readTenant(tenant: unknown): string | null {
  if (tenant === undefined || tenant === null) return null;
  const isWhole =
    typeof tenant === 'bigint' ||
    (typeof tenant === 'number' && Number.isSafeInteger(tenant)) ||
    (typeof tenant === 'string' && wholeNumber.test(tenant));
  const value = isWhole ? BigInt(tenant) : undefined;
  if (value !== undefined && value <= largestTenant && value >= -largestTenant - 1n) return value.toString();
  throw invalid('tenant', tenant, 'must be a whole number of at most 63 bits; beyond 2^53 give it as text');
}

export function readText(field: string, value: unknown, longest: number): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw invalid(field, value, 'must be text');
  // The database counts characters, not UTF-16 units; few texts come near the limit.
  if (value.length > longest && Array.from(value).length > longest) {
    throw new TarefaError(
      'INPUT_INVALID',
      `${field} has more than ${longest} characters; nothing was inserted`,
    );
  }
  if (value.includes('\0')) throw invalid(field, value, 'must not contain a NUL character');
  // As UTF-8 keeps it, so that every driver stores the same text and hashes match what is stored.
  return value.toWellFormed();
}

function readDue({ runAt, delayMs }: GivenTask): Pick<NewTask, 'dueAt' | 'delayMs'> {
  const givenDelay = delayMs !== undefined && delayMs !== null;
  if (runAt !== undefined && runAt !== null) {
    if (givenDelay) throw invalid('delayMs', delayMs, 'must not be given together with runAt');
    return { dueAt: readRunAt(runAt), delayMs: null };
  }
  if (!givenDelay) return { dueAt: null, delayMs: null };
  if (typeof delayMs === 'number' && delayMs >= 0 && delayMs <= longestDelayMs) {
    return { dueAt: null, delayMs };
  }
  throw invalid('delayMs', delayMs, 'must be a number of milliseconds from 0 to 100 years');
}

/** Text stays as it is: it may be finer than the milliseconds of a Date. */
function readRunAt(runAt: unknown): string {
  if (typeof runAt === 'string' && parseInstant(runAt, { zone: 'required' })) return runAt;
  const date = readInstant(runAt);
  if (date) return date.toISOString();
  throw invalid(
    'runAt',
    runAt,
    'must be a Date or ISO 8601 text with a time zone, on a day that exists, in the years 1 to 9999',
  );
}

function readPriority(priority: unknown): number {
  if (typeof priority !== 'number' || !Number.isInteger(priority) || Math.abs(priority) > largestPriority) {
    throw invalid('priority', priority, 'must be a whole number of 32 bits');
  }
  return priority;
}

/** A copy: what was checked is what is stored, however often its getters are asked. */
function readMetadata(metadata: unknown): JsonObject {
  const written = typeof metadata === 'object' ? writeJson(metadata) : { text: '' };
  if ('problem' in written) throw metadataProblem(written.problem, written.cause);
  const { text } = written;
  if (!text.startsWith('{')) throw invalid('metadata', metadata, 'must be an object');
  if (refusedEscape.test(text)) {
    throw invalid('metadata', 'text with a NUL character or half a surrogate pair', 'cannot be stored');
  }
  // As `JSON.rawJSON` writes them: below they would be rounded.
  if (membersWithLargeNumbers(text)) {
    throw metadataProblem('contains a number that is too long for JSON in JavaScript: write it as text');
  }
  const bytes = Buffer.byteLength(text);
  if (bytes > largestMetadata) {
    throw metadataProblem(`has ${bytes} bytes, more than ${largestMetadata}: put the rest into the payload`);
  }
  if (isDeeper(text, deepestMetadata))
    throw metadataProblem(`is nested more than ${deepestMetadata} levels deep`);
  return JSON.parse(text) as JsonObject;
}

/** Puts the rules that a task has of its own where workers read them. */
function withOwnRules(metadata: JsonObject | null, given: GivenTask): JsonObject | null {
  let own = metadata;
  for (const name of ownRuleNames) {
    const value = given[name];
    if (value === undefined || value === null) continue;
    const { key, most } = ownRules[name];
    if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > most)
      throw invalid(name, value, `must be a whole number from 1 to ${most}`);
    own = { ...own, [key]: value };
  }
  return own;
}

function metadataProblem(problem: string, cause?: unknown): TarefaError {
  return new TarefaError('INPUT_INVALID', `metadata ${problem}; nothing was inserted`, { cause });
}

/** Whether JSON is nested in more levels than that. */
function isDeeper(json: string, levels: number): boolean {
  let depth = 0;
  for (const [bracket] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[{}\]]/g)) {
    if (bracket === '{' || bracket === '[') depth += 1;
    else if (bracket === '}' || bracket === ']') depth -= 1;
    if (depth > levels) return true;
  }
  return false;
}

function toText(value: unknown): string {
  if (typeof value === 'function' || typeof value === 'symbol') {
    throw notSerialisable(`is a ${typeof value}, which cannot be written as text`);
  }
  return String(value).toWellFormed();
}

function notSerialisable(problem: string, cause?: unknown): TarefaError {
  return new TarefaError('PAYLOAD_NOT_SERIALISABLE', `the payload ${problem}; nothing was inserted`, {
    cause,
  });
}

function invalid(field: string, value: unknown, problem: string): TarefaError {
  return new TarefaError(
    'INPUT_INVALID',
    `${field} ${problem} (got ${shownValue(value)}); nothing was inserted`,
  );
}
