import type { Ringer, RingRequest } from '../coordination/ringer.js';
import { TarefaError } from '../queue.errors.js';
import { readTaskRecord, statusColumn } from '../storage/columns.js';
import { parseTableName, quoteTableName } from '../storage/postgres/identifiers.js';
import { insertMany, insertOne } from '../storage/postgres/statements/insert.js';
import type { TaskRecord, TaskStatus } from '../task.js';
import { defaultEquivalentStatuses, listEquivalent } from './equivalent-tasks.js';
import { encodeTask, type EncodedTask, type TaskInput } from './task-input.js';
import type { SqlHandle } from './transaction.js';

/** Payload bytes allowed where nothing else is said: 1 MiB. */
export const defaultMaxPayloadBytes = 1_048_576;

export interface QueueClientOptions {
  /** Queue table, optionally with its schema: `orders`, `shop.orders`. */
  readonly table: string;
  /** Largest payload in bytes of UTF-8. Default 1 MiB. */
  readonly maxPayloadBytes?: number;
}

/** @internal */
export interface QueueClientRuntime {
  /** Rings for inserts that the library commits itself; without one the table does. */
  readonly ringer: Ringer;
  /** The table as it was found, quoted, in whatever schema. */
  readonly queue: string;
}

/** Where an insert goes. */
export interface InsertOptions {
  /**
   * The caller's own transaction: the task exists exactly when it commits. Without it the insert commits
   * alone.
   */
  readonly tx?: SqlHandle;
}

/** A task to look for; {@link QueueClient.listEquivalentTask}. */
export interface EquivalentTaskInput extends Pick<
  TaskInput,
  'topic' | 'payload' | 'externalKey' | 'origin' | 'destination' | 'tenant' | 'group'
> {
  /** Default: succeeded, pending and scheduled. */
  readonly status?: readonly TaskStatus[];
}

/**
 * Inserts tasks and publications. In a Nest application it is injected; elsewhere it is made from anything
 * that runs SQL. It opens, begins, commits and rolls back nothing.
 *
 * @example
 * constructor(private readonly queue: QueueClient) {}
 * // inside a transaction of your own:
 * await this.queue.insertTaskPubSub({ topic: 'order-placed', payload: order }, { tx: client });
 *
 * @example
 * const queue = new QueueClient(pgClient, { table: 'orders' });
 */
export class QueueClient {
  readonly #handle: SqlHandle;
  /** Quoted. */
  readonly #table: string;
  readonly #maxPayloadBytes: number;
  readonly #ringer: Ringer | undefined;

  /** @param handle used by calls without `tx` */
  constructor(handle: SqlHandle, options: QueueClientOptions);
  /** @internal With what the module knows besides. */
  constructor(handle: SqlHandle, options: QueueClientOptions, runtime: QueueClientRuntime);
  constructor(handle: SqlHandle, options: QueueClientOptions, runtime?: QueueClientRuntime) {
    this.#handle = handle;
    this.#table = runtime?.queue ?? quoteTableName(parseTableName(options.table));
    this.#maxPayloadBytes = options.maxPayloadBytes ?? defaultMaxPayloadBytes;
    this.#ringer = runtime?.ringer;
  }

  /**
   * Inserts one task and answers its id.
   *
   * @throws {TarefaError} `INPUT_INVALID`, `PAYLOAD_TOO_LARGE`, `PAYLOAD_NOT_SERIALISABLE`: nothing was inserted
   */
  async insertTask(input: TaskInput, { tx }: InsertOptions = {}): Promise<string> {
    return this.#insertOne(encodeTask(input, false, this.#maxPayloadBytes), tx);
  }

  /** Inserts many tasks by one statement, all or none, and answers their ids in the same order. */
  async insertTasks(inputs: readonly TaskInput[], { tx }: InsertOptions = {}): Promise<string[]> {
    if (inputs.length === 0) return [];
    const tasks = inputs.map((input, index) => this.#encodeAt(input, index));
    const rows = await this.#insert(tasks, tx, insertMany, [JSON.stringify(tasks.map(withoutNulls))]);
    return ascending(rows.map((row) => String(row['id'])));
  }

  /**
   * Publishes: one delivery for every active subscription of the topic, each with its own attempts. Answers
   * the publication's id.
   */
  async insertTaskPubSub(
    input: TaskInput & { readonly topic: string },
    { tx }: InsertOptions = {},
  ): Promise<string> {
    return this.#insertOne(encodeTask(input, true, this.#maxPayloadBytes), tx);
  }

  /** Publishes, like `insertTaskPubSub`: subscriptions with a URL are delivered as webhooks. */
  async insertTaskWebhook(
    input: TaskInput & { readonly topic: string },
    options: InsertOptions = {},
  ): Promise<string> {
    return this.insertTaskPubSub(input, options);
  }

  /**
   * Lists attempts equal to the given task, oldest first. It only lists: whether to insert is the caller's
   * decision. A task without external key or payload is equivalent to none.
   *
   * @example
   * const equal = await queue.listEquivalentTask(task, { tx });
   * if (equal.length === 0) await queue.insertTask(task, { tx });
   */
  async listEquivalentTask(input: EquivalentTaskInput, { tx }: InsertOptions = {}): Promise<TaskRecord[]> {
    const { status, ...task } = input;
    const statuses = readStatuses(status);
    const encoded = encodeTask(task, false, this.#maxPayloadBytes);
    if (encoded.chave_externa === null || encoded.payload_hash === null || statuses.length === 0) return [];
    const rows = await ask(tx ?? this.#handle, listEquivalent(this.#table, statuses), [
      encoded.chave_externa,
      encoded.payload_hash,
      encoded.origem,
      encoded.destino,
      encoded.processo,
      encoded.tenant,
      encoded.grupo_empresarial,
    ]);
    return rows.map(readTaskRecord);
  }

  async #insertOne(task: EncodedTask, tx: SqlHandle | undefined): Promise<string> {
    const rows = await this.#insert([task], tx, insertOne, [
      task.data_hora,
      task.delay_ms,
      task.origem,
      task.destino,
      task.processo,
      task.chave_externa,
      task.payload,
      task.payload_hash,
      task.tenant,
      task.grupo_empresarial,
      task.prioridade,
      task.pub_sub,
      task.metadados && JSON.stringify(task.metadados),
    ]);
    return String(rows[0]?.['id']);
  }

  /** What the library commits itself is inserted quietly and rung for afterwards, many at once. */
  async #insert(
    tasks: readonly EncodedTask[],
    tx: SqlHandle | undefined,
    statement: (table: string, quiet: boolean) => string,
    values: unknown[],
  ): Promise<Record<string, unknown>[]> {
    if (tx || !this.#ringer) return ask(tx ?? this.#handle, statement(this.#table, false), values);
    const sentAt = performance.now();
    try {
      return await ask(this.#handle, statement(this.#table, true), values);
    } finally {
      // Also when it failed: its answer may have been lost, not its commit.
      this.#ringer.ring(ringFor(tasks, sentAt));
    }
  }

  #encodeAt(input: TaskInput, index: number): EncodedTask {
    try {
      return encodeTask(input, false, this.#maxPayloadBytes);
    } catch (error) {
      if (!(error instanceof TarefaError)) throw error;
      throw new TarefaError(error.code, `task ${index} of the batch: ${error.message}`, { cause: error });
    }
  }
}

/** Ids are drawn in the order of the input; rows come back in it as well, but nothing promises that. */
function ascending(ids: string[]): string[] {
  const compare = (a: string, b: string): number => a.length - b.length || (a < b ? -1 : 1);
  const isAscending = ids.every((id, index) => index === 0 || compare(ids[index - 1] ?? '', id) < 0);
  return isAscending ? ids : ids.sort(compare);
}

/** The database reads every key of every object: what it would read as null anyway is left out. */
function withoutNulls(task: EncodedTask): Partial<EncodedTask> {
  const row: Record<string, unknown> = {};
  for (const key in task) {
    const value = task[key as keyof EncodedTask];
    if (value !== null && value !== false) row[key] = value;
  }
  return row;
}

/** What is told of tasks that were inserted now. */
function ringFor(tasks: readonly EncodedTask[], sentAt: number): RingRequest {
  let [dueMs, highest, later] = [Infinity, -Infinity, false];
  for (const { data_hora: due, delay_ms: delay, prioridade } of tasks) {
    if (due !== null) dueMs = Math.min(dueMs, Date.parse(due) || 0);
    highest = Math.max(highest, prioridade ?? 50);
    later ||= due !== null || Boolean(delay);
  }
  return { later, highest, sentAt, ...(dueMs === Infinity ? {} : { dueMs }) };
}

/** A handle that answers something else is the transaction of a library that has an adapter. */
async function ask(handle: SqlHandle, text: string, values: unknown[]): Promise<Record<string, unknown>[]> {
  const answer: unknown = await handle.query(text, values);
  if (typeof answer === 'object' && answer !== null && 'rows' in answer && Array.isArray(answer.rows)) {
    return answer.rows as Record<string, unknown>[];
  }
  throw new TarefaError(
    'INPUT_INVALID',
    'tx answered a statement without { rows }: wrap it with fromTypeOrm, fromPrisma or fromKnex, and roll back',
  );
}

function readStatuses(statuses: readonly TaskStatus[] = defaultEquivalentStatuses): readonly TaskStatus[] {
  for (const status of statuses) {
    if (!Object.hasOwn(statusColumn, status)) {
      throw new TarefaError(
        'INPUT_INVALID',
        `${JSON.stringify(status)} is no status; the statuses are ${Object.keys(statusColumn).join(', ')}`,
      );
    }
  }
  return statuses;
}
