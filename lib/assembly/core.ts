import { QueueAdmin } from '../admin/queue-admin.js';
import { TaskWaiter } from '../admin/task-waiter.js';
import { QueueClient } from '../client/queue-client.js';
import { TopicSchemas } from '../client/topic-schemas.js';
import { EndListener } from '../coordination/end-listener.js';
import { leaseMs, LeaseLiveness } from '../coordination/lease/lease-liveness.js';
import type { Liveness } from '../coordination/liveness.js';
import { PostgresBell } from '../coordination/postgres/postgres-bell.js';
import { PostgresLiveness } from '../coordination/postgres/postgres-liveness.js';
import { haltText, pausedText } from '../coordination/ring.js';
import type { SharedSessions } from '../storage/postgres/connections/shared-sessions.js';
import { HistoryRecorder } from '../observability/history/history-recorder.js';
import { startEmbeddedPostgres } from '../embedded/embedded-postgres.js';
import type { PurgeRoutine } from '../maintenance/purge.routine.js';
import {
  openConnections,
  resolveRouting,
  type QueueConnections,
  type Routing,
} from '../storage/postgres/connections/queue-connections.js';
import { TarefaError } from '../errors.js';
import type { QueueEvents } from '../events.js';
import type { ResolvedOptions } from '../options/resolve-options.js';
import { StartAttempts } from './start-attempts.js';
import { connectionConfig } from '../storage/postgres/connections/connection-config.js';
import { leaseThread } from '../storage/postgres/connections/lease-orders.js';
import type { PostgresConnection } from '../options/postgres-connection.js';
import { parseTableName, subscriptionTableNameProblem } from '../values/table-name.js';
import { PostgresDatabase } from '../storage/postgres/postgres-database.js';
import { partitionedLayout } from '../storage/postgres/partitions/partitioned-layout.js';
import type { PreparedSchema, SchemaRequest } from '../storage/postgres/schema/prepare-schema.js';
import type { QueueDatabase } from '../storage/database.js';
import { unavailableTenants } from '../tenants/unavailable-tenants.js';
import type { TenantDatabases } from '../tenants/tenant-databases.js';
import { assembleParts, type QueueWorkerAssembly } from './worker.js';
import { closingReserves, ClosingTime } from '../timing/closing-time.js';
import { within } from '../timing/deadline.js';

/** How long the embedded server may take to stop. */
const serverStopMs = 10_000;
/** How often a worker looks that cannot be woken, unless its options say less. */
const pollWithoutSessionMs = 1_000;

/** What every process with a queue has, wherever its tasks are. */
export interface QueueBasis {
  readonly options: ResolvedOptions;
  readonly events: QueueEvents;
  /** What its worker and its connections may take to close. */
  readonly closing: ClosingTime;
  readonly database: QueueDatabase;
  readonly client: QueueClient;
  readonly schemas: TopicSchemas;
  /** Ids of subscriptions whose rows handlers of this application declare, filled as they are found. */
  readonly declared: Set<string>;
  readonly tenants: TenantDatabases;
  /** Closes everything that was opened. Idempotent. */
  close(): Promise<void>;
}

/** The same in PostgreSQL: its database is prepared, and closing it stops the embedded server when it was its last user. */
export interface QueueCore extends QueueBasis {
  readonly database: PostgresDatabase;
  readonly schema: PreparedSchema;
  readonly bell: PostgresBell;
  readonly connections: QueueConnections;
  /** Undefined where this process writes none. */
  readonly history: HistoryRecorder | undefined;
}

/**
 * Connects a queue and prepares its tables. Leaves nothing open when that fails.
 *
 * @param signal ends a wait for a server that cannot be reached
 */
export async function assembleCore(
  options: ResolvedOptions,
  events: QueueEvents,
  sessions: SharedSessions,
  signal?: AbortSignal,
): Promise<QueueCore> {
  const opened: (() => Promise<unknown>)[] = [];
  const closing = new ClosingTime(options.shutdownTimeoutMs);
  const close = async (): Promise<void> => {
    for (const undo of opened.splice(0).reverse()) await undo();
  };
  try {
    const connection = await resolveConnection(options, opened, events);
    const starting = new StartAttempts(options, events, signal);
    const routing = await resolveRouting(options, connection, starting);
    refuseInteropThroughPooler(options, routing);
    const connections = openConnections(options, routing, sessions, events);
    const { pool, spare, control, sockets } = connections;
    const bell = new PostgresBell({
      send: connections.notify,
      use: connections.canListen ? connections.sessionUse() : undefined,
      channel: options.queue,
      qualifiedTable: () => schema.tables.qualifiedName,
    });
    const database = new PostgresDatabase({
      pool,
      inserts: connections.inserts,
      inOwnTransaction: connections.inOwnTransaction,
      onlookers: connections.onlookers,
      control,
      reach: routing.mainReach,
      interop: options.interop !== undefined,
      schema: schemaRequest(options),
      bell: { channel: options.queue, ringer: bell.ringer, haltText, pausedText },
    });
    opened.push(() =>
      closing.step((leftMs) => {
        const goodbyes = [database.close(), spare?.end() ?? Promise.resolve(), connections.closeOnlookers()];
        return sockets.closeAfter(Promise.all(goodbyes), leftMs);
      }, closingReserves.connections),
    );
    opened.push(() => closing.step(() => connections.closeSession(), closingReserves.sessions));
    const tenants = await openTenants(options, events);
    let history: HistoryRecorder | undefined;
    opened.push(() =>
      closing.step(
        () => Promise.all([history?.close(), bell.settled(), tenants.close()]),
        closingReserves.rest,
      ),
    );
    const schema: PreparedSchema = await starting.run(connection, () => database.prepare());
    history = makeHistory(options, database, events);
    const { table, maxPayloadBytes, transaction } = options;
    const schemas = new TopicSchemas(options.schemas);
    const runtime = { inserts: database.inserts, schemas, transaction };
    const client = new QueueClient(connections.inserts, { table, maxPayloadBytes }, runtime);
    return {
      options,
      events,
      closing,
      database,
      schema,
      client,
      bell,
      schemas,
      declared: new Set(),
      tenants,
      connections,
      history,
      close,
    };
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
}

/** Puts a worker on that core together. Nothing runs until it is started. */
export function assembleWorker(core: QueueCore): QueueWorkerAssembly {
  const { database, bell, events, closing, tenants, history } = core;
  return assembleParts({
    database,
    events,
    closing,
    tenants,
    counter: history?.tally,
    bell,
    liveness: makeLiveness(core),
    options: workerOptions(core),
    admin: (purge) => makeAdmin(core, purge),
  });
}

/** What serves databases of tenants is loaded where they are configured. */
async function openTenants(
  { tenantDatabases, queue }: ResolvedOptions,
  events: QueueEvents,
): Promise<TenantDatabases> {
  if (!tenantDatabases) return unavailableTenants();
  const { assembleTenants } = await import('./tenants.js');
  return assembleTenants(tenantDatabases, queue, events);
}

function makeHistory(
  { worker, history }: ResolvedOptions,
  { reports }: QueueDatabase,
  events: QueueEvents,
): HistoryRecorder | undefined {
  return worker && history ? new HistoryRecorder({ reports, events }) : undefined;
}

function makeAdmin({ options, schemas, bell, database }: QueueCore, purge: PurgeRoutine): QueueAdmin {
  const waiter = new TaskWaiter(async () => (bell.canListen ? EndListener.start(bell) : undefined));
  const { maxPayloadBytes, interop } = options;
  return new QueueAdmin({
    database,
    rules: { maxPayloadBytes, schemas, interop: interop !== undefined },
    waiter,
    purge: () => purge.runNow(),
  });
}

async function resolveConnection(
  options: ResolvedOptions,
  opened: (() => Promise<unknown>)[],
  events: QueueEvents,
): Promise<PostgresConnection> {
  if (options.connection !== 'embedded') return options.connection;
  const server = await startEmbeddedPostgres({
    ...(options.embeddedDataDir === undefined ? {} : { dataDir: options.embeddedDataDir }),
    log: (message) => events.emit('notice', { message }),
  });
  opened.push(() => within(server.stop(), serverStopMs));
  return server.url;
}

/** Locks of tasks belong to a session. */
function refuseInteropThroughPooler(
  { interop, worker }: ResolvedOptions,
  { mainReach, session }: Routing,
): void {
  if (!interop || !worker || mainReach === 'direct' || session !== undefined) return;
  throw new TarefaError(
    'OPTIONS_INVALID',
    `interop: '${interop}' locks tasks in a session, which a pooler takes away: set sessionConnection to the address of PostgreSQL itself`,
  );
}

function schemaRequest(options: ResolvedOptions): SchemaRequest {
  const { table, subscriptionTable, queue, schema, layout } = options;
  return {
    table: parseTableName(table),
    subscriptionTable:
      subscriptionTable === undefined
        ? undefined
        : parseTableName(subscriptionTable, subscriptionTableNameProblem),
    channel: queue,
    mode: schema,
    ...(layout !== 'plain' && { layout: partitionedLayout(layout.partitionIds) }),
    webhooks: options.webhooks !== undefined,
    works: options.worker,
  };
}

/** A worker without a session hears no rings. */
function workerOptions({ options, connections, events }: QueueCore): ResolvedOptions {
  if (!options.worker || connections.routing.session !== undefined) return options;
  const pollIntervalMs = Math.min(options.pollIntervalMs || pollWithoutSessionMs, pollWithoutSessionMs);
  events.emit('warning', {
    message:
      `the connection goes through a pooler, so this worker cannot listen and holds no session locks: it looks for ` +
      `tasks every ${pollIntervalMs} ms and keeps what it holds by a lease of ${leaseMs / 1_000} s. Set sessionConnection to the ` +
      `address of PostgreSQL itself (or of a pooler in session mode) to be woken at once`,
  });
  return { ...options, wake: 'poll', pollIntervalMs };
}

/** What shows that a worker lives: a lock of its session, or a lease where it has none. */
export function makeLiveness({ options, schema, database, connections }: QueueCore): Liveness {
  const { routing } = connections;
  const { workers } = database;
  const { graceMs } = options.recoveryTiming;
  if (routing.session === undefined && options.worker) {
    const application_name = `tarefa ${options.queue} lease`.slice(0, 63);
    const config = { ...connectionConfig(routing.main), application_name };
    const thread = leaseThread({ config, workers: schema.tables.workers });
    return new LeaseLiveness({ thread, workers, graceMs });
  }
  const { qualifiedName: qualifiedTable } = schema.tables;
  return new PostgresLiveness({ use: connections.sessionUse(), workers, qualifiedTable, graceMs });
}
