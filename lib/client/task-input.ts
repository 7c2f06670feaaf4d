import { hash } from 'node:crypto';
import { isDate } from 'node:util/types';
import { TarefaError } from '../queue.errors.js';
import { columnLength } from '../storage/columns.js';
import type { JsonObject } from '../task.js';

/**
 * Payloads by topic, for the compiler: inserts of these topics then take no other payload. Empty until an application
 * adds to it.
 *
 * @example
 * declare module 'nestjs-tarefa' {
 *   interface QueueTopics {
 *     'order-placed': { id: number; total: number };
 *   }
 * }
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface QueueTopics {}

/** The payload of a topic: what {@link QueueTopics} says, else anything. */
export type TopicPayload<Topic> = Topic extends keyof QueueTopics ? QueueTopics[Topic] : unknown;

/** A task to insert. Everything may be left out; what is left out falls back to the table's defaults. */
export interface TaskInput<Topic extends string = string> {
  /** Type of task: what handlers and subscriptions go by. At most 250 characters. */
  readonly topic?: Topic | null;
  /**
   * What the handler gets. Text is stored as it is, an object as JSON, anything else as its text. At most
   * `maxPayloadBytes` bytes of UTF-8.
   */
  readonly payload?: TopicPayload<Topic>;
  /** Id in the producer's own world, such as an order number. Tasks without one are equivalent to none. */
  readonly externalKey?: string | null;
  /** Who asks, free text of at most 150 characters. */
  readonly origin?: string | null;
  /** Whom it is for, free text of at most 150 characters. */
  readonly destination?: string | null;
  /** A whole number of at most 63 bits; text where it exceeds 2^53. */
  readonly tenant?: string | number | bigint | null;
  /** At most 40 characters. */
  readonly group?: string | null;
  /** Larger runs first. Default 50. */
  readonly priority?: number | null;
  /**
   * When the first attempt is due. Default: now. Text is ISO 8601 with its time zone, and may be finer than the
   * milliseconds of a `Date`: `2026-07-01T10:00:00.123456Z`.
   */
  readonly runAt?: Date | string | null;
  /** Instead of `runAt`: ms from now, by the database's clock; at most 100 years. */
  readonly delayMs?: number | null;
  /** Kept beside the payload and shown in `ctx.task.metadata`. */
  readonly metadata?: JsonObject | null;
}

/** A task as the insert statements take it; keys are the table's columns. */
export interface EncodedTask {
  readonly data_hora: string | null;
  readonly delay_ms: number | null;
  readonly origem: string | null;
  readonly destino: string | null;
  readonly processo: string | null;
  readonly chave_externa: string | null;
  readonly payload: string | null;
  readonly payload_hash: string | null;
  readonly tenant: string | null;
  readonly grupo_empresarial: string | null;
  readonly prioridade: number | null;
  readonly pub_sub: boolean;
  readonly metadados: JsonObject | null;
}

/** Names of what a {@link TaskInput} may say. */
export const taskFields: ReadonlySet<string> = new Set([
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
  'metadata',
]);

const largestTenant = 2n ** 63n - 1n;
const largestPriority = 2 ** 31 - 1;
const longestDelayMs = 100 * 365 * 86_400_000;

/** What JavaScript and PostgreSQL write for an instant. Without a zone the two would read it differently. */
const instantText = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)$/i;
/** Escapes in JSON that `jsonb` refuses: NUL and lone surrogates. */
const refusedEscape = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/;

/**
 * Checks a task and makes it what the table stores.
 *
 * @throws {TarefaError} `INPUT_INVALID`, `PAYLOAD_TOO_LARGE`, `PAYLOAD_NOT_SERIALISABLE`
 */
export function encodeTask(input: TaskInput, publication: boolean, maxPayloadBytes: number): EncodedTask {
  if (typeof input !== 'object' || input === null) throw invalid('a task', input, 'must be an object');
  for (const field of Object.keys(input)) {
    if (!taskFields.has(field)) {
      throw new TarefaError(
        'INPUT_INVALID',
        `a task has no field '${field}'; its fields are ${[...taskFields].join(', ')}`,
      );
    }
  }
  const topic = readText('topic', input.topic, columnLength.topic);
  if (publication && !topic)
    throw invalid(
      'topic',
      input.topic,
      'must be given: a publication reaches the subscriptions of its topic',
    );
  const payload = encodePayload(input.payload, maxPayloadBytes);
  const { data_hora, delay_ms } = readDue(input);
  return {
    data_hora,
    delay_ms,
    origem: readText('origin', input.origin, columnLength.origin),
    destino: readText('destination', input.destination, columnLength.destination),
    processo: topic,
    chave_externa: readText('externalKey', input.externalKey, columnLength.externalKey),
    payload,
    payload_hash: hashPayload(payload),
    tenant: readTenant(input.tenant),
    grupo_empresarial: readText('group', input.group, columnLength.group),
    prioridade: readPriority(input.priority),
    pub_sub: publication,
    metadados: readMetadata(input.metadata),
  };
}

/** The text a payload is stored as. The limit is checked before anything else is done with it. */
export function encodePayload(payload: unknown, maxBytes: number): string | null {
  if (payload === undefined || payload === null) return null;
  const text = typeof payload === 'object' ? toJson(payload) : toText(payload);
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes) {
    throw new TarefaError(
      'PAYLOAD_TOO_LARGE',
      `the payload has ${bytes} bytes, more than maxPayloadBytes (${maxBytes}); nothing was inserted`,
    );
  }
  if (text.includes('\0')) {
    throw invalid('payload', 'text with a NUL character', 'cannot be stored: PostgreSQL text holds no NUL');
  }
  return text;
}

/** SHA-256 of a payload's UTF-8 bytes in hexadecimal; null for an empty one, which is equivalent to none. */
export function hashPayload(payload: string | null): string | null {
  return payload ? hash('sha256', payload) : null;
}

export function readTenant(tenant: TaskInput['tenant']): string | null {
  if (tenant === undefined || tenant === null) return null;
  const problem = 'must be a whole number of at most 63 bits; give text beyond 2^53';
  if (typeof tenant === 'number' && !Number.isSafeInteger(tenant)) throw invalid('tenant', tenant, problem);
  let value: bigint;
  try {
    value = BigInt(tenant);
  } catch {
    throw invalid('tenant', tenant, problem);
  }
  if (tenant === '' || value > largestTenant || value < -largestTenant - 1n)
    throw invalid('tenant', tenant, problem);
  return value.toString();
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
  if (value.includes('\0')) throw invalid(field, value, 'must not hold a NUL character');
  return wellFormed(value);
}

/** What UTF-8 makes of a text: every way into the database stores the same, and hashes are of what is stored. */
function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}

function readDue({ runAt, delayMs }: TaskInput): Pick<EncodedTask, 'data_hora' | 'delay_ms'> {
  const givenDelay = delayMs !== undefined && delayMs !== null;
  if (runAt !== undefined && runAt !== null) {
    if (givenDelay) throw invalid('delayMs', delayMs, 'must not be given together with runAt');
    return { data_hora: readInstant(runAt), delay_ms: null };
  }
  if (givenDelay && !(typeof delayMs === 'number' && delayMs >= 0 && delayMs <= longestDelayMs)) {
    throw invalid('delayMs', delayMs, 'must be a number of milliseconds from 0 to 100 years');
  }
  return { data_hora: null, delay_ms: delayMs ?? null };
}

/** Text is handed on as it is: it may be finer than the milliseconds of a Date. */
function readInstant(runAt: Date | string): string {
  const text = isDate(runAt) && !Number.isNaN(runAt.getTime()) ? runAt.toISOString() : runAt;
  const isInstant = typeof text === 'string' && instantText.test(text);
  // JavaScript wants the minutes of a zone that PostgreSQL leaves out.
  if (!isInstant || Number.isNaN(Date.parse(text.replace(/[+-]\d{2}$/, '$&:00')))) {
    throw invalid(
      'runAt',
      runAt,
      'must be a Date or ISO 8601 text with its time zone, in the years 0 to 9999',
    );
  }
  return text;
}

function readPriority(priority: TaskInput['priority']): number | null {
  if (priority === undefined || priority === null) return null;
  if (!Number.isInteger(priority) || Math.abs(priority) > largestPriority) {
    throw invalid('priority', priority, 'must be a whole number of 32 bits');
  }
  return priority;
}

function readMetadata(metadata: TaskInput['metadata']): JsonObject | null {
  if (metadata === undefined || metadata === null) return null;
  if (typeof metadata !== 'object' || Array.isArray(metadata))
    throw invalid('metadata', metadata, 'must be an object');
  if (refusedEscape.test(toJson(metadata))) {
    throw invalid('metadata', 'text with a NUL character or half a surrogate pair', 'cannot be stored');
  }
  return metadata;
}

function toJson(value: object): string {
  try {
    const text = JSON.stringify(value) as string | undefined;
    if (text !== undefined) return text;
  } catch (cause) {
    throw notSerialisable(`cannot be written as JSON: ${String(cause)}`, cause);
  }
  throw notSerialisable('is written as nothing by its toJSON()', undefined);
}

function toText(value: unknown): string {
  if (typeof value === 'function' || typeof value === 'symbol') {
    throw notSerialisable(`is a ${typeof value}, which has no text`, undefined);
  }
  return wellFormed(String(value));
}

function notSerialisable(problem: string, cause: unknown): TarefaError {
  return new TarefaError('PAYLOAD_NOT_SERIALISABLE', `the payload ${problem}; nothing was inserted`, {
    cause,
  });
}

function invalid(field: string, value: unknown, problem: string): TarefaError {
  const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, 100)) : String(value);
  return new TarefaError('INPUT_INVALID', `${field} ${problem} (got ${shown}); nothing was inserted`);
}
