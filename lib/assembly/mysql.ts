import type { ProcessGuard } from '../coordination/lease-protocol.js';
import type { Liveness } from '../coordination/liveness.js';
import type { Bell } from '../coordination/bell.js';
import type { RingRequest } from '../coordination/ring.js';
import { TarefaError } from '../errors.js';
import type { MysqlConnection } from '../options/mysql-connection.js';
import type { ResolvedOptions } from '../options/resolve-options.js';
import type { ResolvedTenantOptions } from '../options/tenant-options.js';
import {
  connectionProblem,
  describePlace,
  placeOf,
} from '../storage/mysql/connections/connection-problem.js';
import type { ControlWatcher } from '../storage/mysql/connections/control-connection.js';
import { connectionKey } from '../storage/mysql/connections/mysql-config.js';
import { loadMysql2 } from '../storage/mysql/connections/mysql-package.js';
import { openConnections } from '../storage/mysql/connections/queue-connections.js';
import { SharedMysqlSessions } from '../storage/mysql/connections/shared-sessions.js';
import { mysqlDialect, type Dialect } from '../storage/mysql/dialect.js';
import { MysqlImportTransactions } from '../storage/mysql/import-transactions.js';
import { MysqlDatabase } from '../storage/mysql/mysql-database.js';
import { MysqlTestAccess } from '../storage/mysql/mysql-test-access.js';
import type {
  PreparedQueue as PreparedTables,
  SchemaRequest,
} from '../storage/mysql/schema/prepare-schema.js';
import type { SqlHandle } from '../storage/sql-handle.js';
import type { StartPlace } from '../storage/start-problem.js';
import type { TaskImportTransactions } from '../storage/task-import.js';
import type { TestAccess } from '../storage/test-access.js';
import type { TenantDriver } from '../tenants/tenant-driver.js';
import { closingReserves } from '../timing/closing-time.js';
import { parseTableName, subscriptionTableNameProblem } from '../values/table-name.js';
import { MysqlCoordination } from './mysql-coordination.js';
import type { OpenedStorage, PreparedQueue, StorageOpening } from './opened-storage.js';

/** How often a worker looks that cannot be woken, unless its options say less. */
const pollUnwokenMs = 1_000;
/** How often any worker looks while there is work: no ring tells what users' own transactions insert. */
const busyPollMs = 100;

/** Opens MySQL or MariaDB. Loaded, with its driver, where a connection leads there. */
export async function openMysql(
  opening: StorageOpening,
  address: MysqlConnection,
  dialect: Dialect = mysqlDialect,
): Promise<MysqlStorage> {
  const { options, events, closing, starting, group, remoteBell, onClose } = opening;
  const mysql = await loadMysql2();
  const place = startPlace(address);
  const warn = (message: string): void => events.emit('warning', { message });
  const { config, ...connections } = openConnections(mysql, {
    connection: address,
    dialect,
    poolSize: options.poolSize,
    works: options.worker,
    watcher: (connection): ControlWatcher => ({
      lost: (error) => events.emit('connection.lost', { connection, error }),
      restored: () => events.emit('connection.restored', { connection }),
    }),
    warn,
  });
  const ringAll = (ring: RingRequest): Promise<void> => (remoteBell ?? coordination.bell).ring('tasks', ring);
  const bell = {
    ring: (ring: RingRequest) => void ringAll(ring),
    changed: () => ringAll({ changed: true }),
    halted: () => ringAll({ halt: true }),
  };
  const database = new MysqlDatabase(connections, schemaRequest(options, opening.declares), bell, warn);
  onClose(() => closing.step(() => database.close(), closingReserves.connections));
  const coordination: MysqlCoordination = await starting.run(place, () =>
    MysqlCoordination.open({
      mysql,
      config,
      sessions: sessionsOf(group),
      sessionKey: connectionKey(address),
      own: connections.own,
      dialect: dialect.name,
      tables: () => database.access.tables,
      workers: () => database.workers,
      listens: options.worker && options.wake === 'kill' && !remoteBell,
      graceMs: options.recoveryTiming.graceMs,
      warn,
    }),
  );
  onClose(() => closing.step(() => coordination.close(), closingReserves.sessions));
  const tables = await starting.run(place, () => database.prepare());
  return new MysqlStorage(opening, { database, coordination, tables });
}

/** What was opened, and what it found. */
interface MysqlParts {
  readonly database: MysqlDatabase;
  readonly coordination: MysqlCoordination;
  readonly tables: PreparedTables;
}

/** {@link OpenedStorage} in MySQL or MariaDB. */
export class MysqlStorage implements OpenedStorage {
  readonly database: MysqlDatabase;
  readonly #opening: StorageOpening;
  readonly #coordination: MysqlCoordination;
  readonly #tables: PreparedTables;

  constructor(opening: StorageOpening, { database, coordination, tables }: MysqlParts) {
    this.database = database;
    this.#opening = opening;
    this.#coordination = coordination;
    this.#tables = tables;
  }

  get bell(): Bell {
    return this.#opening.remoteBell ?? this.#coordination.bell;
  }

  get prepared(): PreparedQueue {
    const { tables, warnings, made } = this.#tables;
    return { qualifiedName: tables.qualifiedName, warnings, made };
  }

  get inserts(): SqlHandle {
    const { own } = this.database.access;
    return { query: (text, values) => own.useHandle((handle) => handle.query(text, values)) };
  }

  /** A worker that holds a lease hears no rings. */
  workerOptions(): ResolvedOptions {
    const { options, events } = this.#opening;
    if (!options.worker) return options;
    if (this.#coordination.whyLease === undefined) return { ...options, busyPollMs };
    const pollIntervalMs = Math.min(options.pollIntervalMs || pollUnwokenMs, pollUnwokenMs);
    const message = this.#coordination.leaseWarning(pollIntervalMs);
    if (message !== undefined) events.emit('warning', { message });
    return { ...options, wake: options.bell ? options.wake : 'poll', pollIntervalMs, busyPollMs };
  }

  liveness(): Liveness {
    return this.#coordination.makeLiveness();
  }

  detachedLiveness(guard: ProcessGuard): Liveness {
    return this.#coordination.makeLease(guard);
  }

  async tenantDriver(options: ResolvedTenantOptions): Promise<TenantDriver> {
    const { MysqlTenantDriver } = await import('../storage/mysql/tenants/mysql-tenant-driver.js');
    return new MysqlTenantDriver(await loadMysql2(), options);
  }

  openImport(): Promise<TaskImportTransactions> {
    if (this.database.access.dialect.name === 'singlestore') {
      throw new TarefaError(
        'OPTIONS_INVALID',
        'an import needs savepoints, which SingleStore does not have: insert through QueueClient instead',
      );
    }
    return MysqlImportTransactions.open(this.database.access, this.database.inserts);
  }

  testAccess(): TestAccess {
    return new MysqlTestAccess(this.database.access);
  }

  async settled(): Promise<void> {
    await Promise.all([this.#coordination.bell.settled(), this.#opening.remoteBell?.settled()]);
  }
}

/** Where a start connects by an address. */
export function startPlace(address: MysqlConnection): StartPlace {
  const place = placeOf(address);
  return { description: describePlace(place), problemOf: (error) => connectionProblem(error, place) };
}

/** The sessions that the queues of one application share. */
const sessionsByGroup = new WeakMap<object, SharedMysqlSessions>();

function sessionsOf(group: object): SharedMysqlSessions {
  const sessions = sessionsByGroup.get(group) ?? new SharedMysqlSessions();
  sessionsByGroup.set(group, sessions);
  return sessions;
}

function schemaRequest(
  { table, subscriptionTable, schema, webhooks, worker }: ResolvedOptions,
  declares: boolean,
): SchemaRequest {
  return {
    table: parseTableName(table),
    subscriptionTable:
      subscriptionTable === undefined
        ? undefined
        : parseTableName(subscriptionTable, subscriptionTableNameProblem),
    mode: schema,
    webhooks: webhooks !== undefined,
    works: worker,
    declares,
  };
}
