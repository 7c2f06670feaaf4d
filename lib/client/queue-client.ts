import { ringText, type Ringer, type RingRequest } from '../coordination/ringer.js';
import { TarefaError } from '../queue.errors.js';
import { decodeText } from '../payload-text.js';
import { readTaskRecord, statusColumn } from '../storage/columns.js';
import { validatePayload } from '../standard-schema.js';
import { parseTableName, quoteTableName } from '../storage/postgres/identifiers.js';
import { insertMany, insertOne } from '../storage/postgres/statements/insert.js';
import type { TaskRecord, TaskStatus } from '../task.js';
import { defaultEquivalentStatuses, listEquivalent } from './equivalent-tasks.js';
import { encodeTask, type EncodedTask, type TaskInput } from './task-input.js';
import type { TopicSchemas } from './topic-schemas.js';
import { refuseWithoutTransaction, type SqlHandle } from './sql-handle.js';

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
  /** What it rings on. */
  readonly channel: string;
  /** The table as it was found, quoted, in whatever schema. */
  readonly queue: string;
  readonly schemas: TopicSchemas;
  /** The ambient transaction that inserts without `tx` join. */
  readonly transaction: (() => SqlHandle | undefined) | undefined;
}

/** Where an insert goes. */
export interface InsertOptions {
  /**
   * The caller's own transaction: the task exists exactly when it commits. Without it the insert joins the one that the
   * option `transaction` names; where there is none it commits alone.
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
  readonly #channel: string;
  /** Inserts under way that the library commits itself. */
  #committing = 0;
  readonly #schemas: TopicSchemas | undefined;
  readonly #ambient: (() => SqlHandle | undefined) | undefined;

  /** @param handle used by calls without `tx` */
  constructor(handle: SqlHandle, options: QueueClientOptions);
  /** @internal With what the module knows besides. */
  constructor(handle: SqlHandle, options: QueueClientOptions, runtime: QueueClientRuntime);
  constructor(handle: SqlHandle, options: QueueClientOptions, runtime?: QueueClientRuntime) {
    this.#handle = handle;
    this.#table = runtime?.queue ?? quoteTableName(parseTableName(options.table));
    this.#maxPayloadBytes = options.maxPayloadBytes ?? defaultMaxPayloadBytes;
    this.#ringer = runtime?.ringer;
    this.#channel = runtime?.channel ?? '';
    this.#schemas = runtime?.schemas;
    this.#ambient = runtime?.transaction;
  }

  /**
   * Inserts one task and answers its id.
   *
   * @throws {TarefaError} `INPUT_INVALID`, `PAYLOAD_TOO_LARGE`, `PAYLOAD_NOT_SERIALISABLE`: nothing was inserted
   */
  async insertTask<Topic extends string>(
    input: TaskInput<Topic>,
    { tx }: InsertOptions = {},
  ): Promise<string> {
    return this.#insertOne(input, false, tx);
  }

  /** Inserts many tasks by one statement, all or none, and answers their ids in the same order. */
  async insertTasks<const Topics extends readonly string[]>(
    inputs: { readonly [Index in keyof Topics]: TaskInput<Topics[Index]> },
    { tx }: InsertOptions = {},
  ): Promise<string[]> {
    if (inputs.length === 0) return [];
    const tasks = inputs.map((input, index) => this.#encodeAt(input, index));
    if (this.#schemas?.isEmpty === false) {
      for (const [index, task] of tasks.entries()) await this.#check(task).catch(explainAt(index));
    }
    const values = [JSON.stringify(tasks.map(withoutNulls))];
    const joined = this.#transactionOf(tx);
    const rows =
      joined || !this.#ringer
        ? await ask(joined ?? this.#handle, insertMany(this.#table, 'table'), values)
        : await this.#commit(tasks, insertMany(this.#table, 'afterwards'), values);
    return ascending(rows.map((row) => String(row['id'])));
  }

  /**
   * Publishes: one delivery for every active subscription of the topic, each with its own attempts. Answers
   * the publication's id.
   */
  async insertTaskPubSub<Topic extends string>(
    input: TaskInput<Topic> & { readonly topic: Topic },
    { tx }: InsertOptions = {},
  ): Promise<string> {
    return this.#insertOne(input, true, tx);
  }

  /** Publishes, like `insertTaskPubSub`: subscriptions with a URL are delivered as webhooks. */
  async insertTaskWebhook<Topic extends string>(
    input: TaskInput<Topic> & { readonly topic: Topic },
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
    const rows = await ask(this.#transactionOf(tx) ?? this.#handle, listEquivalent(this.#table, statuses), [
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

  async #insertOne(input: TaskInput, publication: boolean, tx: SqlHandle | undefined): Promise<string> {
    const task = encodeTask(input, publication, this.#maxPayloadBytes);
    if (this.#schemas?.isEmpty === false) await this.#check(task);
    const values = [
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
    ];
    const joined = this.#transactionOf(tx);
    const rows =
      joined || !this.#ringer
        ? await ask(joined ?? this.#handle, insertOne(this.#table, 'table'), values)
        : await this.#commitOne(task, values);
    return String(rows[0]?.['id']);
  }

  /**
   * Rings by the insert itself while there is nothing to ring for together with it: that is one way less. A NOTIFY makes
   * commits wait for each other, so inserts that run side by side are rung for afterwards, many at once.
   */
  async #commitOne(task: EncodedTask, values: unknown[]): Promise<Record<string, unknown>[]> {
    if (this.#committing > 0 || this.#ringer?.idle === false) {
      return this.#commit([task], insertOne(this.#table, 'afterwards'), values);
    }
    const { highest = 50, later } = ringFor([task], 0);
    const text = ringText(String(highest), later);
    this.#committing += 1;
    try {
      return await ask(this.#handle, insertOne(this.#table, 'statement'), [...values, this.#channel, text]);
    } finally {
      this.#committing -= 1;
    }
  }

  async #commit(
    tasks: readonly EncodedTask[],
    text: string,
    values: unknown[],
  ): Promise<Record<string, unknown>[]> {
    const sentAt = performance.now();
    this.#committing += 1;
    try {
      return await ask(this.#handle, text, values);
    } finally {
      this.#committing -= 1;
      // Also when it failed: its answer may have been lost, not its commit.
      this.#ringer?.ring(ringFor(tasks, sentAt));
    }
  }

  #transactionOf(tx: SqlHandle | undefined): SqlHandle | undefined {
    if (tx === undefined) return this.#ambient?.();
    refuseWithoutTransaction(tx);
    return tx;
  }

  /** Checks what the handler would get. What a schema makes of that is the handler's business: it is not stored. */
  async #check({ processo, payload }: EncodedTask): Promise<void> {
    const schema = this.#schemas?.forInserts(processo);
    if (schema) await validatePayload(schema, decodeText(payload, 'json'));
  }

  #encodeAt(input: TaskInput, index: number): EncodedTask {
    try {
      return encodeTask(input, false, this.#maxPayloadBytes);
    } catch (error) {
      return explainAt(index)(error);
    }
  }
}

const explainAt =
  (index: number) =>
  (error: unknown): never => {
    if (!(error instanceof TarefaError)) throw error;
    throw new TarefaError(error.code, `task ${index} of the batch: ${error.message}`, { cause: error });
  };

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
    'tx answered a statement without { rows }: wrap it with fromTypeOrm, fromPrisma, fromDrizzle or another adapter, and roll back',
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
