import { LeaseLiveness } from '../coordination/lease/lease-liveness.js';
import type { ProcessGuard } from '../coordination/lease-protocol.js';
import type { Liveness } from '../coordination/liveness.js';
import type { Bell } from '../coordination/bell.js';
import { JoinedBell } from '../coordination/joined-bell.js';
import { PostgresBell } from '../coordination/postgres/postgres-bell.js';
import { SessionLiveness } from '../coordination/session-liveness.js';
import { haltText, changedText } from '../coordination/ring.js';
import { startEmbeddedPostgres } from '../embedded/embedded-postgres.js';
import { TarefaError } from '../errors.js';
import type { PostgresConnection } from '../options/postgres-connection.js';
import type { ResolvedOptions } from '../options/resolve-options.js';
import type { ResolvedTenantOptions } from '../options/tenant-options.js';
import { connectionConfig } from '../storage/postgres/connections/connection-config.js';
import { startPlace } from '../storage/postgres/connections/connection-problem.js';
import { leaseThread } from '../storage/postgres/connections/lease-orders.js';
import {
  openConnections,
  resolveRouting,
  type QueueConnections,
  type Routing,
} from '../storage/postgres/connections/queue-connections.js';
import { SharedSessions } from '../storage/postgres/connections/shared-sessions.js';
import { PostgresImportTransactions } from '../storage/postgres/import-transactions.js';
import { partitionedLayout } from '../storage/postgres/partitions/partitioned-layout.js';
import { PostgresDatabase } from '../storage/postgres/postgres-database.js';
import { PostgresTestAccess } from '../storage/postgres/postgres-test-access.js';
import type { PreparedSchema, SchemaRequest } from '../storage/postgres/schema/prepare-schema.js';
import type { SqlHandle } from '../storage/sql-handle.js';
import type { TaskImportTransactions } from '../storage/task-import.js';
import type { TestAccess } from '../storage/test-access.js';
import { leaseMs } from '../storage/workers.js';
import type { TenantDriver } from '../tenants/tenant-driver.js';
import { closingReserves } from '../timing/closing-time.js';
import { within } from '../timing/deadline.js';
import { parseTableName, subscriptionTableNameProblem } from '../values/table-name.js';
import type { OpenedStorage, PreparedQueue, StorageOpening } from './opened-storage.js';

/** How long the embedded server may take to stop. */
const serverStopMs = 10_000;
/** How often a worker looks that cannot be woken, unless its options say less. */
const pollWithoutSessionMs = 1_000;

/** Opens PostgreSQL; the embedded server stops when its last user closes it. */
export async function openPostgres(
  opening: StorageOpening,
  address: PostgresConnection,
): Promise<PostgresStorage> {
  const { options, events, closing, starting, group, remoteBell, onClose } = opening;
  const connection = await resolveConnection(opening, address);
  const routing = await resolveRouting(options, connection, starting);
  refuseInteropThroughPooler(options, routing);
  const connections = openConnections(options, routing, sessionsOf(group), events);
  const { pool, spare, control, sockets } = connections;
  const bell = new PostgresBell(
    connections.notify,
    connections.canListen ? connections.sessionUse() : undefined,
    options.queue,
    () => schema.tables.qualifiedName,
  );
  const database = new PostgresDatabase({
    pool,
    inserts: connections.inserts,
    inOwnTransaction: connections.inOwnTransaction,
    onlookers: connections.onlookers,
    control,
    reach: routing.mainReach,
    interop: options.interop !== undefined,
    schema: schemaRequest(options, opening.declares),
    bell: {
      channel: options.queue,
      ringer: bell.ringer,
      beside: remoteBell && ((ring) => void remoteBell.ring('tasks', ring)),
      haltText,
      changedText,
    },
    warn: (message) => events.emit('warning', { message }),
  });
  onClose(() =>
    closing.step((leftMs) => {
      const goodbyes = [database.close(), spare?.end() ?? Promise.resolve(), connections.closeOnlookers()];
      return sockets.closeAfter(Promise.all(goodbyes), leftMs);
    }, closingReserves.connections),
  );
  onClose(() => closing.step(() => connections.closeSession(), closingReserves.sessions));
  const schema: PreparedSchema = await starting.run(startPlace(connection), () => database.prepare());
  if (schema.heedsPolicies) connections.heedPolicies();
  return new PostgresStorage(opening, { database, bell, connections, schema });
}

/** What was opened, and what it found. */
interface PostgresParts {
  readonly database: PostgresDatabase;
  readonly bell: PostgresBell;
  readonly connections: QueueConnections;
  readonly schema: PreparedSchema;
}

/** {@link OpenedStorage} in PostgreSQL. */
export class PostgresStorage implements OpenedStorage {
  readonly database: PostgresDatabase;
  readonly bell: Bell;
  readonly schema: PreparedSchema;
  readonly #opening: StorageOpening;
  readonly #ownBell: PostgresBell;
  readonly #connections: QueueConnections;

  constructor(opening: StorageOpening, { database, bell, connections, schema }: PostgresParts) {
    this.database = database;
    this.#ownBell = bell;
    this.bell = opening.remoteBell ? new JoinedBell(bell, opening.remoteBell) : bell;
    this.schema = schema;
    this.#opening = opening;
    this.#connections = connections;
  }

  get prepared(): PreparedQueue {
    const { tables, warnings, made } = this.schema;
    return { qualifiedName: tables.qualifiedName, warnings, made };
  }

  get inserts(): SqlHandle {
    return this.#connections.inserts;
  }

  /** A worker without a session hears no rings. */
  workerOptions(): ResolvedOptions {
    const { options, events } = this.#opening;
    if (!options.worker || this.#connections.routing.session !== undefined) return options;
    const pollIntervalMs = Math.min(options.pollIntervalMs || pollWithoutSessionMs, pollWithoutSessionMs);
    events.emit('warning', {
      message:
        `the connection goes through a pooler, so this worker cannot listen to PostgreSQL and holds no session locks: it polls for ` +
        `tasks every ${pollIntervalMs} ms and holds them with a lease of ${leaseMs / 1_000} s. ` +
        (options.bell
          ? `Its bell wakes it only for tasks that this library inserts; set sessionConnection to the address of PostgreSQL itself (or of a ` +
            `pooler in session mode) to be woken for all tasks`
          : `Set sessionConnection to the address of PostgreSQL itself (or of a pooler in session mode), or a bell, to be woken at once`),
    });
    return { ...options, wake: options.bell ? options.wake : 'poll', pollIntervalMs };
  }

  /** A lock of the session, or a lease where there is none. */
  liveness(): Liveness {
    const { options } = this.#opening;
    const { routing, sessionUse } = this.#connections;
    const { workers } = this.database;
    const { graceMs } = options.recoveryTiming;
    const { tables } = this.schema;
    if (routing.session === undefined && options.worker) return this.#lease();
    return new SessionLiveness(sessionUse(), workers, tables.qualifiedName, graceMs);
  }

  detachedLiveness(guard: ProcessGuard): Liveness {
    return this.#lease(guard);
  }

  #lease(guard?: ProcessGuard): Liveness {
    const { options } = this.#opening;
    const { workers, queue } = this.schema.tables;
    const application_name = `tarefa ${options.queue} lease`.slice(0, 63);
    const config = { ...connectionConfig(this.#connections.routing.main), application_name };
    return new LeaseLiveness(
      leaseThread({ config, workers, queue }),
      this.database.workers,
      options.recoveryTiming.graceMs,
      guard,
    );
  }

  async tenantDriver(options: ResolvedTenantOptions): Promise<TenantDriver> {
    const { PostgresTenantDriver } = await import('../storage/postgres/tenants/postgres-tenant-driver.js');
    return new PostgresTenantDriver(options, `tarefa ${this.#opening.options.queue} tenant`.slice(0, 63));
  }

  openImport(): Promise<TaskImportTransactions> {
    const { pool } = this.#connections;
    const { queue } = this.schema.tables;
    return PostgresImportTransactions.open(
      pool,
      queue,
      this.database.inserts,
      () => void this.bell.ring('tasks', { later: true }),
    );
  }

  testAccess(): TestAccess {
    return new PostgresTestAccess(this.#connections.inserts, this.schema.tables);
  }

  async settled(): Promise<void> {
    await Promise.all([this.#ownBell.settled(), this.#opening.remoteBell?.settled()]);
  }
}

/** The sessions that the queues of one application share. */
const sessionsByGroup = new WeakMap<object, SharedSessions>();

function sessionsOf(group: object): SharedSessions {
  const sessions = sessionsByGroup.get(group) ?? new SharedSessions();
  sessionsByGroup.set(group, sessions);
  return sessions;
}

async function resolveConnection(
  { options, events, onClose }: StorageOpening,
  address: PostgresConnection,
): Promise<PostgresConnection> {
  if (address !== 'embedded') return address;
  const server = await startEmbeddedPostgres({
    ...(options.embeddedDataDir === undefined ? {} : { dataDir: options.embeddedDataDir }),
    log: (message) => events.emit('notice', { message }),
  });
  onClose(() => within(server.stop(), serverStopMs));
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
    `interop: '${interop}' locks tasks in a session, which a pooler does not keep: set sessionConnection to the address of PostgreSQL itself`,
  );
}

function schemaRequest(options: ResolvedOptions, declares: boolean): SchemaRequest {
  const { table, subscriptionTable, queue, schema, layout } = options;
  return {
    table: parseTableName(table),
    subscriptionTable:
      subscriptionTable === undefined
        ? undefined
        : parseTableName(subscriptionTable, subscriptionTableNameProblem),
    channel: queue,
    mode: schema,
    refusesForeign: options.server !== undefined && !options.worker,
    ...(layout !== 'plain' && { layout: partitionedLayout(layout.partitionIds) }),
    webhooks: options.webhooks !== undefined,
    works: options.worker,
    declares,
  };
}
