import {
  connectionVariableNames,
  isClientServerMode,
  optionVariables,
  readEnvironment,
  readWebhookTimeoutMs,
} from './environment.js';
import type { Environment } from './variables.js';
import { OptionCheck } from './option-check.js';
import { defaultMaxPayloadBytes } from './payload-limit.js';
import { TarefaError } from '../errors.js';
import { resolveIsolation, type ResolvedIsolation } from './isolation-options.js';
import { resolveLanes, type Lanes } from './lanes.js';
import { resolveLoki, type ResolvedLokiOptions } from './resolve-loki.js';
import type { PostgresConnection } from './postgres-connection.js';
import { channelNameProblem, subscriptionTableNameProblem, tableNameProblem } from '../values/table-name.js';
import type { StandardSchema } from '../values/standard-schema.js';
import { checkConnection, checkSessionConnection, type ConnectionProblem } from './check-connection.js';
import { resolveBell, tcp, type ResolvedBell } from './bell-options.js';
import { checkSchemas } from './check-schemas.js';
import { withoutUnset } from '../values/without-unset.js';
import type { ErrorProperties } from '../redaction/error-properties.js';
import { resolveRecovery } from './recovery-options.js';
import type { SqlHandle } from '../storage/sql-handle.js';
import type { WrapHandler } from '../options/wrap-handler.js';
import { resolveEnhancers, type EnhancerKind } from './enhancer-kinds.js';
import { resolveSharedServer, type ResolvedSharedServer } from './shared-server.js';
import { resolveServer, type ResolvedServerOptions } from './server-options.js';
import { resolveTenantDatabases, type ResolvedTenantOptions } from './tenant-options.js';
import { resolveWebhooks, type ResolvedWebhookOptions } from './webhook-options.js';
import { refuseOnlyPostgres } from './only-postgres.js';
import { isSingleStore, type QueueConnection } from './queue-connection.js';
import { resolveWake, type Wake } from './resolve-wake.js';
import { resolveLayout, type ResolvedLayout } from './table-layout.js';
import type { RecoveryOptions, WorkerOptions } from './worker-options.js';
import type { QueueOptions } from './queue-options.js';

/** Options of one queue, checked and complete. */
export interface ResolvedOptions extends WorkerOptions {
  /** Where the database is; `'embedded'` is PostgreSQL's. */
  readonly connection: QueueConnection;
  readonly sessionConnection: PostgresConnection | undefined;
  readonly connectRetryMs: number;
  readonly queue: string;
  readonly table: string;
  readonly subscriptionTable: string | undefined;
  readonly schema: 'create' | 'check';
  readonly layout: ResolvedLayout;
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
  readonly wake: Wake;
  /** Undefined where the database alone wakes. */
  readonly bell: ResolvedBell | undefined;
  /** What handlers share, by name. */
  readonly lanes: Lanes;
  readonly transaction: (() => SqlHandle | undefined) | undefined;
  readonly schemas: Readonly<Record<string, StandardSchema>>;
  readonly wrapHandler: WrapHandler | undefined;
  readonly globalEnhancers: readonly EnhancerKind[];
  /** Undefined where webhooks are not delivered. */
  readonly webhooks: ResolvedWebhookOptions | undefined;
  /** The server that workers of nsj-queue-lib lock in; undefined where they lock in the database, or there are none. */
  readonly sharedServer: ResolvedSharedServer | undefined;
  /** Undefined where this process is no server of the client-server mode. */
  readonly server: ResolvedServerOptions | undefined;
  /** Undefined where tenants have no databases. */
  readonly tenantDatabases: ResolvedTenantOptions | undefined;
  /** Undefined where no handler is isolated. */
  readonly isolation: ResolvedIsolation | undefined;
  /** How sure a recovery must be, also when only the retry routine recovers. */
  readonly recoveryTiming: RecoveryOptions;
  /** Undefined where lines go to Nest's logger alone. */
  readonly loki: ResolvedLokiOptions | undefined;
  /** What of errors is stored besides their messages, stacks, codes and causes. */
  readonly errorProperties: ErrorProperties;
  /** True where a worker writes down what ends. */
  readonly history: boolean;
  readonly logDebug: boolean;
}

/** `process.env.DATABASE_URL ?? 'embedded'` must not turn a missing variable into a database that nobody keeps. */
const embeddedInProduction =
  "connection is 'embedded' and NODE_ENV is 'production': the embedded PostgreSQL is for development, and its tasks are on no " +
  'server that is backed up or shared. Give the URL of a server (is DATABASE_URL missing?); if you want an embedded one ' +
  'anyway, start it with startEmbeddedPostgres() and give its url';

const everyFiveMinutes = [0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55];

const knownOptions: Record<keyof QueueOptions, true> = {
  connection: true,
  sessionConnection: true,
  connectRetryMs: true,
  queue: true,
  table: true,
  subscriptionTable: true,
  schema: true,
  layout: true,
  embeddedDataDir: true,
  worker: true,
  autoStart: true,
  concurrency: true,
  lanes: true,
  poolSize: true,
  maxAttempts: true,
  maxSnoozes: true,
  retryIntervalMinutes: true,
  retryMinutes: true,
  notifyMinutes: true,
  purgeMinutes: true,
  purgeMaxAgeDays: true,
  purgeLimit: true,
  purgeRoundLimit: true,
  waitNotifyIntervalSeconds: true,
  wake: true,
  bell: true,
  pollIntervalMs: true,
  scheduledTimer: true,
  recovery: true,
  order: true,
  unknownTasks: true,
  interop: true,
  halt: true,
  transaction: true,
  schemas: true,
  wrapHandler: true,
  globalEnhancers: true,
  webhooks: true,
  server: true,
  tenantDatabases: true,
  isolation: true,
  maxLoopDelayMs: true,
  pauseWhileBlocked: true,
  maxPayloadBytes: true,
  errorProperties: true,
  shutdownTimeoutMs: true,
  loki: true,
  history: true,
  logDebug: true,
};

/**
 * Checks options once and completes them.
 *
 * @param connectionProblem says why a driver cannot use a connection as it is written
 *
 * @throws {TarefaError} `OPTIONS_INVALID`, with all mistakes at once
 */
export function resolveOptions(
  given: QueueOptions,
  env: Environment,
  connectionProblem: ConnectionProblem,
): ResolvedOptions {
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

  if ('dashboard' in given) {
    check.mistake(
      'pass `dashboard` to forRootAsync() itself, not from useFactory: its routes and guards must be known first',
    );
  }
  check.known(
    Object.keys(given).filter((name) => name !== 'dashboard'),
    Object.keys(knownOptions),
  );
  const table = options.table ?? options.queue;
  const queue = options.queue ?? options.table;
  const connection = checkConnection(options.connection, check, connectionProblem);
  if (
    options.connection === undefined &&
    !environmentMistakes.some(({ option }) => option === 'connection')
  ) {
    check.missing('connection', connectionVariableNames);
  }
  if (options.connection === 'embedded' && env['NODE_ENV'] === 'production')
    check.mistake(embeddedInProduction);
  refuseOnlyPostgres(connection, options, env, check);
  if (connection.driver === 'postgres') {
    checkSessionConnection(options.sessionConnection, check, connectionProblem);
  }
  if (queue === undefined) check.missing('queue or table', ['QUEUE_NAME', 'QUEUE_TABLE']);
  check.name('queue', queue, channelNameProblem);
  check.name(options.table === undefined ? 'table (taken from queue)' : 'table', table, tableNameProblem);
  if (options.subscriptionTable !== false) {
    check.name('subscriptionTable', options.subscriptionTable, subscriptionTableNameProblem);
    if (table !== undefined && options.subscriptionTable === table) {
      check.mistake(
        `subscriptionTable and table are both ${JSON.stringify(table)}: they must be different tables`,
      );
    }
  }
  if (options.embeddedDataDir !== undefined) {
    check.name('embeddedDataDir', options.embeddedDataDir, (path) => (path === '' ? 'is empty' : undefined));
  }
  const concurrency = check.whole('concurrency', options.concurrency ?? 10, 1, 10_000);
  const wake = resolveWake(options.wake, connection, check);
  const waitSeconds = check.number(
    'waitNotifyIntervalSeconds',
    options.waitNotifyIntervalSeconds ?? 30,
    0.001,
    86_400,
  );
  const recoveryTiming = resolveRecovery(options.recovery, check);
  const interop = resolveInterop(options.interop, check);
  const longestTimer = 2 ** 31 - 1;

  const resolved: ResolvedOptions = {
    connection,
    sessionConnection: options.sessionConnection,
    connectRetryMs: check.number('connectRetryMs', options.connectRetryMs ?? 60_000, 0, longestTimer),
    queue: queue ?? '',
    table: table ?? '',
    subscriptionTable:
      options.subscriptionTable === false ? undefined : (options.subscriptionTable ?? `${table}_subscriber`),
    schema: check.oneOf('schema', options.schema ?? 'create', ['create', 'check']),
    layout: resolveLayout(options.layout, check),
    embeddedDataDir: options.embeddedDataDir,
    worker: check.boolean('worker', options.worker ?? true),
    autoStart: check.boolean('autoStart', options.autoStart ?? true),
    concurrency,
    lanes: resolveLanes(options.lanes, check),
    poolSize: check.whole('poolSize', options.poolSize ?? Math.min(concurrency, 10), 1, 1_000),
    maxAttempts: check.whole('maxAttempts', options.maxAttempts ?? 100, 1, 1_000_000),
    maxSnoozes: check.whole('maxSnoozes', options.maxSnoozes ?? 1_000, 0, 1_000_000),
    retryIntervalMinutes: check.number('retryIntervalMinutes', options.retryIntervalMinutes ?? 5, 0, 525_600),
    retryMinutes: check.minutes('retryMinutes', options.retryMinutes ?? everyFiveMinutes),
    notifyMinutes: check.minutes('notifyMinutes', options.notifyMinutes ?? everyFiveMinutes),
    purgeMinutes: check.minutes('purgeMinutes', options.purgeMinutes ?? [0]),
    purgeMaxAgeDays: check.number('purgeMaxAgeDays', options.purgeMaxAgeDays ?? 60, 0, 36_500),
    purgeLimit: check.whole('purgeLimit', options.purgeLimit ?? 1_000, 1, 100_000),
    purgeRoundLimit: check.whole('purgeRoundLimit', options.purgeRoundLimit ?? 100, 1, 10_000),
    waitNotifyIntervalSeconds: waitSeconds,
    wake,
    bell: resolveBell(
      // Their server, which a worker with interop may share, knows no rings.
      options.bell ?? (isClientServerMode(env) && wake !== 'poll' && !interop ? tcp() : undefined),
      queue ?? '',
      env,
      check,
    ),
    pollIntervalMs: check.number(
      'pollIntervalMs',
      options.pollIntervalMs ?? (wake === 'listen' ? waitSeconds * 1_000 : 1_000),
      0,
      longestTimer,
    ),
    scheduledTimer: check.boolean('scheduledTimer', options.scheduledTimer ?? true),
    recovery: options.recovery === false ? undefined : recoveryTiming,
    recoveryTiming,
    order: check.oneOf('order', options.order ?? 'age', ['age', 'fair']),
    unknownTasks: check.oneOf('unknownTasks', options.unknownTasks ?? 'leave', ['leave', 'fail']),
    interop,
    sharedServer: resolveSharedServer(interop, env, check),
    halt: check.boolean('halt', options.halt ?? options.interop === 'nsj'),
    transaction: checkFunction('transaction', options.transaction, check),
    schemas: checkSchemas(options.schemas, check),
    wrapHandler: checkFunction('wrapHandler', options.wrapHandler, check),
    globalEnhancers: resolveEnhancers(options.globalEnhancers, check),
    webhooks: resolveWebhooks(
      options.webhooks,
      readWebhookTimeoutMs(env, (text) => check.mistake(text)),
      check,
    ),
    server: resolveServer(options.server, env, check),
    tenantDatabases: resolveTenantDatabases(options.tenantDatabases, env, check),
    isolation: resolveIsolation(options.isolation, check),
    maxLoopDelayMs: check.number('maxLoopDelayMs', options.maxLoopDelayMs ?? 1_000, 0, longestTimer),
    pauseWhileBlocked: check.boolean('pauseWhileBlocked', options.pauseWhileBlocked ?? false),
    maxPayloadBytes: check.whole(
      'maxPayloadBytes',
      options.maxPayloadBytes ?? defaultMaxPayloadBytes,
      1,
      2 ** 29,
    ),
    errorProperties: readErrorProperties(options.errorProperties, check),
    shutdownTimeoutMs: check.number(
      'shutdownTimeoutMs',
      options.shutdownTimeoutMs ?? 20_000,
      0,
      longestTimer,
    ),
    loki: resolveLoki(options.loki, queue ?? '', env, check),
    history: check.boolean('history', options.history ?? true),
    logDebug: check.boolean('logDebug', options.logDebug ?? false),
  };
  if (wake === 'poll' && resolved.pollIntervalMs === 0) {
    check.mistake(`pollIntervalMs is 0 with wake: 'poll': no task would ever be found`);
  }
  if (wake === 'poll' && resolved.bell) {
    check.mistake(`bell wakes workers, but wake is 'poll': leave one of them out`);
  }
  if (resolved.webhooks && options.subscriptionTable === false) {
    check.mistake('webhooks need subscriptions, but subscriptionTable is false');
  }
  if (resolved.tenantDatabases && isSingleStore(connection)) {
    check.mistake(
      'tenantDatabases: their transactions need savepoints, which SingleStore does not have: leave it out',
    );
  }
  check.throwIfAny('the options of QueueModule');
  return Object.freeze(resolved);
}

function resolveInterop(interop: QueueOptions['interop'], check: OptionCheck): 'nsj' | undefined {
  if (interop === undefined || interop === false) return undefined;
  return check.oneOf<'nsj'>('interop', interop, ['nsj']);
}

function readErrorProperties(given: QueueOptions['errorProperties'], check: OptionCheck): ErrorProperties {
  if (given === undefined || typeof given === 'boolean') return given ?? false;
  const isList = Array.isArray(given) && given.every((name) => typeof name === 'string');
  if (isList) return Object.freeze([...given]);
  check.mistake("errorProperties must be true, false or a list of names such as ['status', 'detail']");
  return false;
}

function checkFunction<T>(option: string, value: T | undefined, check: OptionCheck): T | undefined {
  if (value !== undefined && typeof value !== 'function') check.mistake(`${option} must be a function`);
  return value;
}
