import { TarefaError } from '../../errors.js';
import type { WorkerId } from '../attempt.js';
import type { ClaimsOptions } from '../claims.js';
import type { QueueDatabase } from '../database.js';
import type { ErrorKind } from '../error-kind.js';
import type { Interop } from '../interop.js';
import { RowsApart } from '../rows-apart.js';
import type { SqlHandle } from '../sql-handle.js';
import { TaskLocks } from './interop/task-locks.js';
import type { RunTransaction } from './partitions/short-transaction.js';
import { PostgresAdmin, type AdminBell } from './postgres-admin.js';
import { PostgresAttempts } from './postgres-attempts.js';
import { PostgresClaims } from './postgres-claims.js';
import { PostgresEndpoints } from './postgres-endpoints.js';
import { classifyError } from './postgres-errors.js';
import { PostgresInserts, type InsertBell } from './postgres-inserts.js';
import { PostgresInterop } from './postgres-interop.js';
import { PostgresReports } from './postgres-reports.js';
import { PostgresSchedules } from './postgres-schedules.js';
import { PostgresSubscriptions } from './postgres-subscriptions.js';
import { PostgresTransactions } from './postgres-transactions.js';
import { PostgresUpkeep } from './postgres-upkeep.js';
import { PostgresWorkers, type HaltBell } from './postgres-workers.js';
import { QueueAccess, rethrowConnectionError, type QueueAccessParts } from './queue-access.js';
import { idWarnings } from './schema/id-sequence.js';
import { describeSecured, readTables, securedTables } from './schema/row-security.js';
import { refusedOperator } from './schema/schema-rights.js';
import { prepareSchema, type PreparedSchema, type SchemaRequest } from './schema/prepare-schema.js';
import type { QueueTables } from './identifiers.js';

/** What a queue in PostgreSQL is made of. */
export interface PostgresDatabaseParts extends QueueAccessParts {
  readonly schema: SchemaRequest;
  readonly bell: InsertBell & AdminBell & HaltBell;
  /** Told what people should know of the database. */
  readonly warn: (message: string) => void;
}

/** {@link QueueDatabase} on PostgreSQL 13 or newer. It closes its connections when it is closed. */
export class PostgresDatabase implements QueueDatabase {
  readonly inserts: PostgresInserts;
  readonly attempts: PostgresAttempts;
  readonly transactions: PostgresTransactions;
  readonly workers: PostgresWorkers;
  readonly upkeep: PostgresUpkeep;
  readonly admin: PostgresAdmin;
  readonly reports: PostgresReports;
  readonly subscriptions: PostgresSubscriptions;
  readonly endpoints: PostgresEndpoints;
  readonly schedules: PostgresSchedules;
  readonly interop: Interop | undefined;
  readonly apart: RowsApart;
  readonly #access: QueueAccess;
  readonly #locks: TaskLocks | undefined;
  readonly #request: SchemaRequest;

  constructor({ schema, bell, warn, ...parts }: PostgresDatabaseParts) {
    const access = new QueueAccess(parts);
    const apart = new RowsApart(warn);
    const locks = parts.interop && parts.control ? new TaskLocks(parts.control.first) : undefined;
    this.#access = access;
    this.#locks = locks;
    this.apart = apart;
    this.#request = schema;
    this.inserts = new PostgresInserts(access.inserts, bell, access.inOwnTransaction);
    this.attempts = new PostgresAttempts(access, { apart, fansOut: schema.subscriptionTable !== undefined });
    this.transactions = new PostgresTransactions(access);
    this.workers = new PostgresWorkers(access, bell);
    this.upkeep = new PostgresUpkeep(access);
    this.admin = new PostgresAdmin(access, bell);
    this.reports = new PostgresReports(access, this.upkeep);
    this.subscriptions = new PostgresSubscriptions(access);
    this.endpoints = new PostgresEndpoints(access);
    this.schedules = new PostgresSchedules(access);
    this.interop = locks && new PostgresInterop(access, locks, apart);
  }

  /** Creates or checks table, columns, indexes, triggers and view; learns the queue's identity. */
  async prepare(): Promise<PreparedSchema> {
    const prepared = await prepareSchema((work) => this.inTransaction(work), this.#request).catch(
      rethrowConnectionError,
    );
    if (prepared.isPartitioned && this.#access.interop) throw noInterop(prepared.tables);
    this.#access.prepare(prepared);
    this.inserts.into({ table: prepared.tables.queue, insertFunction: prepared.insertFunction });
    const run: RunTransaction = (work) => this.inTransaction(work);
    const warnings = [...prepared.warnings, ...(await idWarnings(run, prepared.tables))];
    if (this.#access.control) {
      await this.upkeep.prepareAhead().catch((error: unknown) => warnings.push((error as Error).message));
    }
    return { ...prepared, warnings };
  }

  /** Runs work in a transaction of its own on a connection of the pool. */
  inTransaction<T>(work: (tx: SqlHandle) => Promise<T>): Promise<T> {
    return this.#access.inTransaction(work);
  }

  claimsOf(workerId: WorkerId, options: ClaimsOptions): PostgresClaims {
    return new PostgresClaims(this.#access, workerId, { apart: this.apart, locks: this.#locks }, options);
  }

  classify(error: unknown): ErrorKind {
    return classifyError(error);
  }

  async explainRefusal(error: unknown): Promise<TarefaError | undefined> {
    const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
    if (code !== '42501') return undefined;
    const { inserts, schema } = this.#access;
    return refusedOperator(inserts, schema.tables, String(message));
  }

  /** Without a pooler in between statements fail by it. */
  async findHidden(): Promise<string | undefined> {
    const access = this.#access;
    if (access.reach === 'direct') return undefined;
    const rows = await access.ask(securedTables, [readTables(access.schema.tables, this.#request)]);
    if (rows.length === 0) return undefined;
    return describeSecured(rows.map(({ name }) => String(name)));
  }

  close(): Promise<void> {
    return this.#access.close();
  }
}

/** Workers of nsj-queue-lib fail attempts without a fence: only unique indexes prevent two next attempts. */
function noInterop({ qualifiedName }: QueueTables): TarefaError {
  return new TarefaError(
    'OPTIONS_INVALID',
    `interop: workers of nsj-queue-lib need the unique indexes that a partitioned table cannot have, and ${qualifiedName} is partitioned: stop these workers, and leave interop out`,
  );
}
