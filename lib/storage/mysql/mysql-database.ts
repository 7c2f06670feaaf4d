import type { TarefaError } from '../../errors.js';
import type { WorkerId } from '../attempt.js';
import type { ClaimsOptions } from '../claims.js';
import type { QueueDatabase } from '../database.js';
import type { ErrorKind } from '../error-kind.js';
import type { TaskInserts } from '../inserts.js';
import { RowsApart } from '../rows-apart.js';
import type { ScheduleStore } from '../schedules.js';
import type { SqlHandle } from '../sql-handle.js';
import { asHandle } from './connections/own-pool.js';
import type { MysqlConnections } from './mysql-access.js';
import { MysqlAdmin, type AdminBell } from './mysql-admin.js';
import { MysqlAttempts } from './mysql-attempts.js';
import { MysqlClaims } from './mysql-claims.js';
import { MysqlEndpoints } from './mysql-endpoints.js';
import { classifyError } from './mysql-errors.js';
import { MysqlInserts, type InsertBell } from './mysql-inserts.js';
import { MysqlReports } from './mysql-reports.js';
import { MysqlSchedules } from './mysql-schedules.js';
import { MysqlSubscriptions } from './mysql-subscriptions.js';
import { MysqlTransactions } from './mysql-transactions.js';
import { MysqlUpkeep } from './mysql-upkeep.js';
import { MysqlWorkers, type HaltBell } from './mysql-workers.js';
import { waysOf } from './singlestore/singlestore-ways.js';
import { ServerAccess } from './other-ways.js';
import { isRefusal } from './schema/refusals.js';
import { refusedOperator } from './schema/schema-rights.js';
import { prepareSchema, type PreparedQueue, type SchemaRequest } from './schema/prepare-schema.js';

/** {@link QueueDatabase} on MySQL 8.0.22 or newer, or MariaDB 10.8 or newer. It closes its connections when it is closed. */
export class MysqlDatabase implements QueueDatabase {
  readonly inserts: TaskInserts;
  readonly attempts: MysqlAttempts;
  readonly transactions: MysqlTransactions;
  readonly workers: MysqlWorkers;
  readonly upkeep: MysqlUpkeep;
  readonly admin: MysqlAdmin;
  readonly reports: MysqlReports;
  readonly subscriptions: MysqlSubscriptions;
  readonly endpoints: MysqlEndpoints;
  readonly schedules: ScheduleStore;
  readonly apart: RowsApart;
  /** For what else reaches the queue's tables. */
  readonly access: ServerAccess;
  readonly #request: SchemaRequest;

  /** @param warn told what people should know of the database */
  constructor(
    connections: MysqlConnections,
    schema: SchemaRequest,
    bell: InsertBell & AdminBell & HaltBell,
    warn: (message: string) => void,
  ) {
    const access = new ServerAccess(connections, waysOf(connections.dialect?.name));
    const { Inserts = MysqlInserts } = access.ways;
    const apart = new RowsApart(warn);
    this.apart = apart;
    this.access = access;
    this.#request = { ...schema, dialect: access.dialect.name };
    this.inserts = new Inserts(
      {
        use: (work) => access.own.useHandle(work),
        transaction: (work) => this.inTransaction(work),
        takesSeveral: true,
      },
      () => ({
        table: access.tables.queue,
        maxPacketBytes: access.prepared.server.maxPacketBytes,
      }),
      bell,
    );
    this.attempts = new MysqlAttempts(access, { apart, fansOut: schema.subscriptionTable !== undefined });
    this.transactions = new MysqlTransactions(access);
    this.workers = new MysqlWorkers(access, bell);
    this.upkeep = new MysqlUpkeep(access);
    this.admin = new MysqlAdmin(access, bell);
    this.reports = new MysqlReports(access, this.upkeep);
    this.subscriptions = new MysqlSubscriptions(access);
    this.endpoints = new MysqlEndpoints(access);
    const { Schedules = MysqlSchedules } = access.ways;
    this.schedules = new Schedules(access);
  }

  /** Creates or checks table, columns, indexes, trigger and view; learns the queue's identity. */
  async prepare(): Promise<PreparedQueue> {
    const { own } = this.access;
    const prepared = await own.use((run) => prepareSchema(run, this.#request));
    this.access.prepare(prepared);
    return prepared;
  }

  /** Runs work in a transaction of its own. */
  inTransaction<T>(work: (tx: SqlHandle) => Promise<T>): Promise<T> {
    return this.access.own.transaction((run) => work(asHandle(run)));
  }

  claimsOf(workerId: WorkerId, options: ClaimsOptions): MysqlClaims {
    return new MysqlClaims(this.access, workerId, this.apart, options);
  }

  classify(error: unknown): ErrorKind {
    return classifyError(error);
  }

  async explainRefusal(error: unknown): Promise<TarefaError | undefined> {
    if (!isRefusal(error)) return undefined;
    const { own, tables } = this.access;
    return own.use((run) => refusedOperator(run, tables, this.#request, (error as Error).message));
  }

  /** Its servers have no policies. */
  async findHidden(): Promise<undefined> {
    return undefined;
  }

  close(): Promise<void> {
    return this.access.close();
  }
}
