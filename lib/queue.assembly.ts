import { Client, Pool, type ClientConfig } from 'pg';
import { QueueClient } from './client/queue-client.js';
import type { SqlHandle } from './client/transaction.js';
import { PostgresCoordinator } from './coordination/postgres-coordinator.js';
import type { PostgresSession } from './coordination/postgres-session.js';
import { Ringer } from './coordination/ringer.js';
import type { SharedSessions } from './coordination/shared-sessions.js';
import { startEmbeddedPostgres, type EmbeddedPostgres } from './embedded/embedded-postgres.js';
import { FanOut } from './fan-out/fan-out.js';
import { NotifyRoutine } from './maintenance/notify.routine.js';
import { PurgeRoutine } from './maintenance/purge.routine.js';
import { Recovery } from './maintenance/recovery.js';
import { RetryRoutine } from './maintenance/retry.routine.js';
import type { QueueEvents } from './queue.events.js';
import type { ResolvedOptions } from './queue.options.js';
import {
  connectionConfig,
  connectionKey,
  sessionSettings,
  type PostgresConnection,
} from './storage/postgres/connection-config.js';
import { ControlConnection } from './storage/postgres/control-connection.js';
import { parseTableName, subscriptionTableNameProblem } from './storage/postgres/identifiers.js';
import { PostgresStorage } from './storage/postgres/postgres-storage.js';
import { Sockets } from './storage/postgres/sockets.js';
import type { PreparedSchema } from './storage/postgres/prepare-schema.js';
import { HandlerRegistry } from './subscribers/handler-registry.js';
import { version } from './version.js';
import { within } from './worker/deadline.js';
import { DemandBook } from './worker/demand.js';
import { Dispatcher } from './worker/dispatcher.js';
import { Executor } from './worker/executor.js';
import { QueueWorker } from './worker/queue-worker.js';
import { Reconciler } from './worker/reconciler.js';
import { Settler } from './worker/settler.js';
import { Signal } from './worker/signal.js';

/** How long one thing may take to close: a server that does not answer must not keep a process from ending. */
const closeMs = 10_000;

/** What every process with a queue has: its storage, prepared, and a client. */
export interface QueueCore {
  readonly options: ResolvedOptions;
  readonly events: QueueEvents;
  readonly storage: PostgresStorage;
  readonly schema: PreparedSchema;
  readonly client: QueueClient;
  readonly ringer: Ringer;
  readonly openSession: () => Promise<PostgresSession>;
  readonly closeSession: () => Promise<void>;
  /** Closes every connection, and the embedded server when this was its last user. Idempotent. */
  close(): Promise<void>;
}

/** What a process that works has besides. */
export interface QueueWorkerAssembly {
  readonly worker: QueueWorker;
  readonly registry: HandlerRegistry;
  readonly retry: RetryRoutine;
  readonly notify: NotifyRoutine;
  readonly purge: PurgeRoutine;
}

/** Connects a queue and prepares its tables. Leaves nothing open when that fails. */
export async function assembleCore(
  options: ResolvedOptions,
  events: QueueEvents,
  sessions: SharedSessions,
): Promise<QueueCore> {
  const opened: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const undo of opened.splice(0).reverse()) await within(undo(), closeMs);
  };
  try {
    const connection = await resolveConnection(options, opened, events);
    const core = connectCore(options, connection, events, sessions);
    opened.push(() => core.sockets.closeAfter(Promise.all([core.storage.close(), core.spare?.end()])));
    opened.push(() => core.closeSession());
    opened.push(() => core.ringer.settled());
    await core.storage.prepare();
    return { ...core, schema: core.schema(), client: core.client(), close };
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
}

/** Puts a worker together. Nothing runs until it is started. */
export function assembleWorker(core: QueueCore): QueueWorkerAssembly {
  const { options, storage, events, ringer, openSession, closeSession } = core;
  const registry = new HandlerRegistry();
  const coordinator = new PostgresCoordinator({
    openSession,
    closeSession,
    ringer,
    channel: options.wake === 'listen' ? options.queue : undefined,
    qualifiedTable: () => core.schema.tables.qualifiedName,
    graceMs: options.recoveryTiming.graceMs,
  });
  const signal = new Signal();
  const settler = new Settler(storage, events, signal);
  const executor = new Executor({ storage, settler, registry, options, events });
  const fanOut = new FanOut({ storage, coordinator, settler, options, events });
  const demand = new DemandBook(registry, options);
  const dispatcher = new Dispatcher({
    storage,
    coordinator,
    executor,
    fanOut,
    settler,
    reconciler: new Reconciler({ storage, coordinator, settler, events }),
    demand,
    signal,
    options,
    events,
  });
  const timing = options.recoveryTiming;
  const recovery = new Recovery({ storage, coordinator, registry, options, timing, events });
  const worker = new QueueWorker({
    storage,
    coordinator,
    registry,
    dispatcher,
    executor,
    fanOut,
    settler,
    recovery,
    options,
    events,
    version,
    enabled: options.worker,
  });
  const { purgeMaxAgeDays, purgeLimit, purgeRoundLimit, waitNotifyIntervalSeconds } = options;
  return {
    worker,
    registry,
    retry: new RetryRoutine(coordinator, recovery),
    notify: new NotifyRoutine(storage, coordinator, waitNotifyIntervalSeconds * 1_000),
    purge: new PurgeRoutine(storage, coordinator, {
      maxAgeDays: purgeMaxAgeDays,
      limit: purgeLimit,
      roundLimit: purgeRoundLimit,
    }),
  };
}

async function resolveConnection(
  options: ResolvedOptions,
  opened: (() => Promise<unknown>)[],
  events: QueueEvents,
): Promise<PostgresConnection> {
  if (options.connection !== 'embedded') return options.connection;
  const server: EmbeddedPostgres = await startEmbeddedPostgres({
    ...(options.embeddedDataDir === undefined ? {} : { dataDir: options.embeddedDataDir }),
    log: (message) => events.emit('notice', { message }),
  });
  opened.push(() => server.stop());
  return server.url;
}

interface ConnectedCore extends Omit<QueueCore, 'schema' | 'client' | 'close'> {
  /** Of all connections but the session, which other queues may share. */
  readonly sockets: Sockets;
  readonly spare: Pool | undefined;
  schema(): PreparedSchema;
  client(): QueueClient;
}

function connectCore(
  options: ResolvedOptions,
  connection: PostgresConnection,
  events: QueueEvents,
  sessions: SharedSessions,
): ConnectedCore {
  const sockets = new Sockets();
  const named = (purpose: string): ClientConfig => ({
    stream: sockets.open,
    ...connectionConfig(connection),
    application_name: `tarefa ${options.queue} ${purpose}`.slice(0, 63),
  });
  const pool = openPool(named('pool'), options.poolSize, events);
  // Handlers may hold every connection of the pool and wait for an insert of theirs, which must not wait for them.
  const spare = options.worker ? openPool(named('spare'), 1, events) : undefined;
  const control = options.worker
    ? new ControlConnection(named('control'), {
        lost: (error) => events.emit('connection.lost', { connection: 'control', error }),
        restored: () => events.emit('connection.restored', { connection: 'control' }),
      })
    : undefined;

  let prepared: PreparedSchema | undefined;
  const storage = new PostgresStorage({
    pool,
    control,
    schema: {
      table: parseTableName(options.table),
      subscriptionTable:
        options.subscriptionTable === undefined
          ? undefined
          : parseTableName(options.subscriptionTable, subscriptionTableNameProblem),
      channel: options.queue,
      mode: options.schema,
    },
    onPrepared: (schema) => (prepared = schema),
  });

  // Rings go through the session where there is one: handlers may hold every connection of the pool.
  let session: PostgresSession | undefined;
  const ringer = new Ringer(async (text) => {
    const values = [options.queue, text];
    if (session?.up) await session.query('select pg_notify($1::text, $2::text)', values);
    else await pool.query('select pg_notify($1::text, $2::text)', values);
  });

  const sessionConnection = options.sessionConnection ?? connection;
  const key = connectionKey(sessionConnection);
  const schema = (): PreparedSchema => {
    if (!prepared) throw new Error('the storage is not prepared');
    return prepared;
  };
  return {
    options,
    events,
    storage,
    sockets,
    spare,
    ringer,
    schema,
    client: () =>
      new QueueClient(
        preparedStatements(() => (spare && isExhausted(pool) ? spare : pool)),
        { table: options.table, maxPayloadBytes: options.maxPayloadBytes },
        { ringer, queue: schema().tables.queue },
      ),
    openSession: async () => {
      session = await sessions.open(key, {
        ...connectionConfig(sessionConnection),
        application_name: 'tarefa session',
      });
      return session;
    },
    closeSession: async () => {
      if (!session) return;
      session = undefined;
      await sessions.close(key);
    },
  };
}

/**
 * The pool of handlers' transactions, fan-out and inserts. Opening a connection has a limit, waiting for a free
 * one has none.
 */
function openPool(config: ClientConfig, max: number, events: QueueEvents): Pool {
  class PoolConnection extends Client {
    constructor() {
      super({ ...config, pipeline: true });
    }
  }
  const pool = new Pool({ ...config, max, connectionTimeoutMillis: 0, Client: PoolConnection });
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    // Sent before whatever the connection was opened for; should it fail, that fails as well.
    void client.query(sessionSettings).catch(() => undefined);
  });
  pool.on('error', (error) =>
    events.emit('notice', {
      message: `an idle connection was lost (${error.message}); another is opened when needed`,
    }),
  );
  return pool;
}

function isExhausted({ totalCount, idleCount, options }: Pool): boolean {
  return totalCount >= options.max && idleCount === 0;
}

/** A handle whose statements are prepared once per connection, by their text. */
function preparedStatements(pool: () => Pool): SqlHandle {
  const names = new Map<string, string>();
  return {
    query: (text, values) => {
      const name = names.get(text) ?? `tarefa_client_${names.size}`;
      names.set(text, name);
      return pool().query<Record<string, unknown>>({ name, text, values: values ?? [] });
    },
  };
}
