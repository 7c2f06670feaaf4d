import { defaultMaxPayloadBytes } from '../options/payload-limit.js';
import type { QueueTopics, StorableTopic, TopicName, TopicPayload } from '../values/queue-topics.js';
import { TarefaError } from '../errors.js';
import { parseTableName } from '../values/table-name.js';
import { readFields, readList } from '../values/read-fields.js';
import type { NewTask, TaskInserts } from '../storage/inserts.js';
import { quoteTableName } from '../storage/mysql/identifiers.js';
import { MysqlInserts } from '../storage/mysql/mysql-inserts.js';
import { SingleStoreInserts } from '../storage/mysql/singlestore/singlestore-inserts.js';
import { insertsInto as insertsIntoPostgres } from '../storage/postgres/postgres-inserts.js';
import type { TaskRecord, TaskStatus } from '../task.js';
import {
  encodeTask,
  readTaskFields,
  type InsertedTask,
  type JsonTasks,
  type TaskInput,
} from './task-input.js';
import { checkAmongMany } from './unique-task.js';
import type { TopicSchemas } from './topic-schemas.js';
import { readStatuses } from './read-statuses.js';
import { readTransaction, type SqlHandle } from '../storage/sql-handle.js';

/** Which queue a client inserts into that is made without the module. */
export interface QueueClientOptions {
  /** Queue table, optionally with its schema: `orders`, `shop.orders`. */
  readonly table: string;
  /** Largest payload in bytes of UTF-8. Default 1 MiB. */
  readonly maxPayloadBytes?: number | undefined;
  /** Whose table it is; `mysql` for MariaDB as well, `singlestore` not run on SingleStore. Default `postgres`. */
  readonly driver?: 'postgres' | 'mysql' | 'singlestore' | undefined;
}

/** @internal The module's own parts. */
export interface QueueClientRuntime {
  readonly inserts: TaskInserts;
  readonly schemas: TopicSchemas;
  /** The ambient transaction that inserts without `tx` join. */
  readonly transaction: (() => SqlHandle | undefined) | undefined;
  /** Wakes workers; absent where none could hear it. */
  readonly ring?: (() => Promise<void>) | undefined;
}

/** Default statuses: a task that waits or has succeeded makes an equal one unnecessary. */
const defaultEquivalentStatuses: readonly TaskStatus[] = ['succeeded', 'pending', 'scheduled'];

/** Where an insert goes. */
export interface InsertOptions {
  /**
   * The caller's own transaction: the task exists exactly when it commits. Without it the insert joins the transaction that
   * the option `transaction` returns, or commits alone.
   */
  readonly tx?: SqlHandle | undefined;
}

/** A task that `listEquivalentTask()` looks for. */
export interface EquivalentTaskInput extends Pick<
  TaskInput,
  'topic' | 'payload' | 'externalKey' | 'origin' | 'destination' | 'tenant' | 'group'
> {
  /** Default: succeeded, pending and scheduled. */
  readonly status?: readonly TaskStatus[] | undefined;
}

/**
 * Inserts tasks and publications. Inject it in a Nest application; elsewhere make one from anything that runs SQL. It opens
 * no connection, and begins, commits and rolls back no transaction.
 *
 * @example
 * constructor(private readonly queue: QueueClient) {}
 * // inside a transaction of your own:
 * await this.queue.insertTaskPubSub({ topic: 'order-placed', payload: order }, { tx: client });
 *
 * @example
 * const queue = new QueueClient(pgClient, { table: 'orders' });
 * const other = new QueueClient(fromMysql2(connection), { table: 'orders', driver: 'mysql' });
 */
export class QueueClient {
  readonly #inserts: TaskInserts;
  readonly #maxPayloadBytes: number;
  readonly #schemas: TopicSchemas | undefined;
  readonly #ambient: (() => SqlHandle | undefined) | undefined;
  readonly #ring: (() => Promise<void>) | undefined;

  /** @param handle used by calls without `tx`; on MySQL one connection, and no pool */
  constructor(handle: SqlHandle, options: QueueClientOptions);
  /** @internal With the module's own parts, through which tasks are inserted. */
  constructor(handle: SqlHandle, options: QueueClientOptions, runtime: QueueClientRuntime);
  constructor(handle: SqlHandle, options: QueueClientOptions, runtime?: QueueClientRuntime) {
    const { maxPayloadBytes = defaultMaxPayloadBytes } = options;
    // A client that is made without the module has no assembly: the only place above the seam that names a database.
    this.#inserts = runtime?.inserts ?? insertsInto(handle, options);
    this.#maxPayloadBytes = maxPayloadBytes;
    this.#schemas = runtime?.schemas;
    this.#ambient = runtime?.transaction;
    this.#ring = runtime?.ring;
  }

  /**
   * Inserts one task and answers its id.
   *
   * @throws {TarefaError} `INPUT_INVALID`, `PAYLOAD_TOO_LARGE`, `PAYLOAD_NOT_SERIALISABLE`, `TASK_DUPLICATE`: nothing was inserted
   */
  insertTask<Topic extends TopicName, Payload>(
    input: InsertedTask<Topic, Payload>,
    options?: InsertOptions,
  ): Promise<string>;
  insertTask<Topic extends StorableTopic>(
    input: TaskInput<Topic, QueueTopics[Topic] | TopicPayload<Topic>>,
    options?: InsertOptions,
  ): Promise<string>;
  async insertTask(input: TaskInput, options: InsertOptions = {}): Promise<string> {
    return this.#insertOne(input, false, options);
  }

  /**
   * Inserts many tasks by one statement, all or none, and answers their ids in the same order. Unique ones need
   * `onConflict: 'return'`: where a key is taken, the id is that of the task that has it.
   */
  async insertTasks<const Topics extends readonly TopicName[], const Tasks extends readonly unknown[]>(
    inputs: { readonly [Index in keyof Topics]: InsertedTask<Topics[Index], unknown> } & Tasks &
      JsonTasks<Tasks>,
    options: InsertOptions = {},
  ): Promise<string[]> {
    const tasks = readList('the batch', inputs).map((input, index) =>
      this.#encodeAt(input as TaskInput, index),
    );
    if (tasks.length === 0) return [];
    if (this.#schemas?.isEmpty === false) {
      for (const [index, { topic, payload }] of tasks.entries()) {
        await this.#schemas.check(topic, payload).catch(explainAt(index));
      }
    }
    return this.#inserts.insertMany(tasks, this.#transactionOf(options));
  }

  /**
   * Publishes: one delivery for every active subscription of the topic, each with its own attempts. Answers
   * the publication's id.
   */
  insertTaskPubSub<Topic extends TopicName, Payload>(
    input: InsertedTask<Topic, Payload> & { readonly topic: Topic },
    options?: InsertOptions,
  ): Promise<string>;
  insertTaskPubSub<Topic extends StorableTopic>(
    input: TaskInput<Topic, QueueTopics[Topic] | TopicPayload<Topic>> & { readonly topic: Topic },
    options?: InsertOptions,
  ): Promise<string>;
  async insertTaskPubSub(input: TaskInput, options: InsertOptions = {}): Promise<string> {
    return this.#insertOne(input, true, options);
  }

  /** Publishes, like `insertTaskPubSub`: subscriptions with a URL are delivered as webhooks. */
  insertTaskWebhook<Topic extends TopicName, Payload>(
    input: InsertedTask<Topic, Payload> & { readonly topic: Topic },
    options?: InsertOptions,
  ): Promise<string>;
  insertTaskWebhook<Topic extends StorableTopic>(
    input: TaskInput<Topic, QueueTopics[Topic] | TopicPayload<Topic>> & { readonly topic: Topic },
    options?: InsertOptions,
  ): Promise<string>;
  async insertTaskWebhook(input: TaskInput, options: InsertOptions = {}): Promise<string> {
    return this.#insertOne(input, true, options);
  }

  /**
   * Wakes workers for tasks that were inserted in a transaction of yours. Call it after the commit, on MySQL and MariaDB: nothing
   * rings there when that commits, and the tasks wait for the next poll. On PostgreSQL the commit rings automatically, unless the
   * transaction has set `tarefa.quiet`. A client that was made without the module, and one of a queue without a
   * database, wakes nobody. Never rejects.
   *
   * @example
   * await connection.commit();
   * await this.queue.ring();
   */
  async ring(): Promise<void> {
    await this.#ring?.();
  }

  /**
   * Lists attempts equal to the given task, oldest first. It only lists: whether to insert is the caller's
   * decision. A task without external key or payload is equivalent to none.
   *
   * @example
   * const equal = await queue.listEquivalentTask(task, { tx });
   * if (equal.length === 0) await queue.insertTask(task, { tx });
   */
  async listEquivalentTask(input: EquivalentTaskInput, options: InsertOptions = {}): Promise<TaskRecord[]> {
    const { status, ...task } = readTaskFields(input, ['status']);
    const statuses = status === undefined ? defaultEquivalentStatuses : readStatuses(status);
    const encoded = encodeTask(task as TaskInput, false, this.#maxPayloadBytes);
    if (encoded.externalKey === null || encoded.payloadHash === null || statuses.length === 0) return [];
    return this.#inserts.listEquivalent(encoded, statuses, this.#transactionOf(options));
  }

  async #insertOne(input: object, publication: boolean, options: InsertOptions): Promise<string> {
    const task = encodeTask(input, publication, this.#maxPayloadBytes);
    if (this.#schemas?.isEmpty === false) await this.#schemas.check(task.topic, task.payload);
    return this.#inserts.insert(task, this.#transactionOf(options));
  }

  #transactionOf(options: InsertOptions): SqlHandle | undefined {
    const { tx } = readFields(
      'the second argument of an insert',
      options,
      ['tx'],
      (name) => `an insert has no option '${name.slice(0, 100)}': give the transaction as { tx }`,
    );
    return tx === undefined ? this.#ambient?.() : readTransaction(tx);
  }

  #encodeAt(input: TaskInput, index: number): NewTask {
    try {
      const task = encodeTask(input, false, this.#maxPayloadBytes);
      checkAmongMany(task.unique);
      return task;
    } catch (error) {
      return explainAt(index)(error);
    }
  }
}

/** Inserts by the table's name alone. */
function insertsInto(handle: SqlHandle, { table, driver }: QueueClientOptions): TaskInserts {
  if (driver !== 'mysql' && driver !== 'singlestore') return insertsIntoPostgres(handle, table);
  const target = { table: quoteTableName(parseTableName(table)), maxPacketBytes: usualPacketBytes };
  const Inserts = driver === 'singlestore' ? SingleStoreInserts : MysqlInserts;
  return new Inserts(
    { use: (work) => work(handle), transaction: refuseSeveral, takesSeveral: false },
    () => target,
  );
}

/** What MariaDB takes unless it is told otherwise. */
const usualPacketBytes = 2 ** 24;

function refuseSeveral(): never {
  throw new TarefaError(
    'INPUT_INVALID',
    'so many tasks need several statements: give a transaction as { tx }, so that all or none are inserted; nothing was inserted',
  );
}

const explainAt =
  (index: number) =>
  (error: unknown): never => {
    if (!(error instanceof TarefaError)) throw error;
    throw new TarefaError(error.code, `task ${index} of the batch: ${error.message}`, { cause: error });
  };
