import type { DriverClient } from './storage/driver-client.js';
import type { SqlHandle } from './storage/sql-handle.js';
import type { TenantDb } from './storage/tenant-db.js';
import type { Fixed, Json } from './values/queue-topics.js';

/**
 * Where an attempt stands. In the table: `agendada`, `pendente`, `processando`, `sucesso`, `falha`; one that was cancelled is a
 * `falha` whose `cancelada_por` is set.
 */
export type TaskStatus = 'scheduled' | 'pending' | 'processing' | 'succeeded' | 'failed' | 'cancelled';

/** A status as it stands in the table: where another program wrote a word of its own, that word. */
export type StoredStatus = TaskStatus | (string & Record<never, never>);

/**
 * Where a task stands, as operators see it: a {@link TaskStatus}, but `retrying` for a task that has failed and is scheduled
 * for its next attempt. Then `scheduled` is one that waits for its first. Once it is due, it is `pending` either way.
 */
export type TaskState = StoredStatus | 'retrying';

/** Any value that JSON can hold. */
export type JsonObject = { readonly [key: string]: unknown };

/** One attempt of a task as a handler sees it. Ids are strings, so that those beyond 2^53 survive. */
export interface Task {
  /** Id of this attempt: its row. */
  readonly id: string;
  /** Id of the chain's first attempt; equal to `id` on the first one. Names the task as a whole. */
  readonly firstAttemptId: string;
  /**
   * Stable key of the task: the same over all its attempts and its dead chain, different for every other
   * task, also when a failover re-issues ids. Hand it to other systems as their idempotency key.
   */
  readonly key: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly topic: string | null;
  readonly origin: string | null;
  readonly destination: string | null;
  readonly externalKey: string | null;
  readonly tenant: string | null;
  readonly group: string | null;
  /** Larger runs first. Default 50. */
  readonly priority: number;
  /** When this attempt was due, by the database's clock. `infinity` is the last moment that a `Date` can hold. */
  readonly dueAt: Date;
  /** When the first attempt was due. */
  readonly firstDueAt: Date;
  /** Publication (its first attempt) that this delivery was made from; null for other tasks. */
  readonly publicationId: string | null;
  /** Subscription that this delivery is for; null for other tasks. */
  readonly subscriptionId: string | null;
  /** True in the chain that is started when a task ran out of attempts. */
  readonly dead: boolean;
  /** First attempt of the chain that ran out of attempts; null unless `dead`. */
  readonly liveId: string | null;
  /** What the producer stored beside the payload; null when nothing. An object, unless SQL stored other JSON there. */
  readonly metadata: JsonObject | null;
}

/** One attempt as it stands in the table, with its payload and outcome. */
export interface TaskRecord extends Omit<Task, 'key'> {
  readonly status: StoredStatus;
  /** Payload text, resolved: later attempts of a chain share the first one's. */
  readonly payload: string | null;
  readonly publication: boolean;
  readonly message: string | null;
  /** What the handler returned, as JSON text; null when it returned text or nothing. */
  readonly result: string | null;
  readonly error: string | null;
  /** When the next attempt is due; null while there is none. */
  readonly nextAttemptAt: Date | null;
  /** True when a next attempt was made from this one. */
  readonly retried: boolean;
  /** True when this was the chain's last attempt and it failed. */
  readonly exhausted: boolean;
  /** Who cancelled it; null unless it is cancelled, and where nobody was named. */
  readonly cancelledBy: string | null;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  /**
   * Columns whose bytes are not text in the encoding of the database: these bytes are written `\\xe3` here, and `metadata`
   * that is not JSON for it is null. Absent where everything can be read.
   */
  readonly unreadable?: readonly string[] | undefined;
}

/** The subscription a delivery was made for, as it was at the moment of the publication. */
export interface Subscription {
  readonly id: string;
  readonly topic: string;
  readonly tenant: string | null;
  readonly group: string | null;
  readonly url: string | null;
  readonly httpMethod: string | null;
  readonly headers: Readonly<Record<string, string>> | null;
}

/** Runs statements in a task's transaction. As with `pg`, the caller may say what rows are like: `query<{ id: number }>(…)`. */
export interface TaskDb extends SqlHandle {
  // The caller knows the statement, as with pg.
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters
  query<Row = Record<string, unknown>>(text: string, values?: unknown[]): Promise<{ rows: Row[] }>;
}

/** What a handler is given beside the payload. */
export interface TaskContext {
  readonly task: Task;
  /** Snapshot of the subscription; undefined unless the task is a delivery. */
  readonly subscription: Subscription | undefined;
  /**
   * Runs statements in the task's own transaction, which the first call opens and which commits together
   * with the task's success. A handler that never calls it costs no transaction.
   *
   * @example await ctx.db.query('insert into search_index (order_id) values ($1)', [order.id]);
   */
  readonly db: TaskDb;
  /**
   * The `pg` client of that same transaction, for libraries that take one. Do not end its transaction and do
   * not use it after the handler has returned. Its `release()` does nothing.
   */
  client(): Promise<DriverClient>;
  /**
   * A connection to the database of the task's tenant, where the option `tenantDatabases` is set. It is the same one for
   * all of the handler and goes back automatically. It is outside of the task's transaction: what is done there happens at
   * least once, and with `once()` of the handle once.
   *
   * @example
   * const db = await ctx.tenantDb();
   * await db.once((tx) => tx.query('insert into invoice (order_id) values ($1)', [order.id]));
   * @throws {TarefaError} `TENANT_UNAVAILABLE`, `OPTIONS_INVALID` without that option, `TASK_ENDED`
   */
  tenantDb(): Promise<TenantDb>;
  /**
   * Finishes the task inside a transaction of the caller's own, instead of in `ctx.db`: call it last, then
   * commit. The outcome is read back afterwards: if that transaction rolled back, the attempt fails.
   *
   * @param result recorded like a handler's return value: what JSON cannot hold is not recorded, and the message says why
   * @throws {TarefaError} `TASK_LOST` when the attempt no longer belongs to this worker, `RIGHTS_MISSING` when that transaction
   * does not see its row or may not change it, `TRANSACTION_BROKEN` when `ctx.db` was used as well, `TASK_ENDED`
   */
  completeIn<Result>(tx: SqlHandle, result?: Result & Json<Fixed<Result>>): Promise<void>;
  /**
   * Says how far the handler is: a number from 0 to 1, or text, of which the first 500 characters count. It stands in the message
   * of the running attempt until that of its end takes its place. A worker writes the last word of each handler once a second, on
   * another connection than `ctx.db`. Never throws; after the handler has ended it does nothing.
   *
   * @example ctx.progress(done / total);
   */
  progress(progress: number | string): void;
  /**
   * Aborts when the attempt timed out, was cancelled (the reason has the code `TASK_CANCELLED`), was replaced because another worker
   * has taken it over, or the worker is shutting down.
   */
  readonly signal: AbortSignal;
}
