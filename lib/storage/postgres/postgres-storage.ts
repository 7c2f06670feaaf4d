import type { Pool, QueryResult } from 'pg';
import type { SqlHandle } from '../../client/sql-handle.js';
import { TarefaError } from '../../queue.errors.js';
import { readBoolean, statusColumn } from '../columns.js';
import type {
  AttemptOutcome,
  Claim,
  ClaimRequest,
  Completion,
  Failure,
  FailureOutcome,
  FanOutOutcome,
  HeldTask,
  Lane,
  NextDue,
  PartitionPurge,
  PromoteResult,
  PurgeableWindow,
  PurgeLook,
  Route,
  SettleAndClaimResult,
  Storage,
  Stretch,
  TaskGroup,
  TaskTransaction,
  WorkerDescription,
  WorkerId,
} from '../storage.js';
import { wrapConnectionError } from './connection-config.js';
import type { ControlConnection, ControlConnections, TextRow } from './control-connection.js';
import { inTransaction } from './in-transaction.js';
import { PostgresGroup } from './postgres-group.js';
import { PostgresTransaction } from './postgres-transaction.js';
import { dropPartitions } from './partitions/drop-partitions.js';
import { makePartitions } from './partitions/make-partitions.js';
import { noInterop } from './partitions/no-interop.js';
import type { RunTransaction } from './partitions/short-transaction.js';
import { prepareSchema, type PreparedSchema, type SchemaRequest } from './prepare-schema.js';
import { claimForm, claimValues, failureValues, settleValues } from './claim-values.js';
import { findPurgeable, purgeWhole } from './purging.js';
import { readHeldRow, readIds, readSettled, type QueueIdentity } from './read-rows.js';
import { asQuery, type Reach } from './pooler.js';
import type { Statement } from './statement.js';
import { queueStatements, type QueueStatements } from './statements.js';
import { TaskLocks } from './task-locks.js';
import { explainFanOut } from './transaction-errors.js';

/** What a {@link PostgresStorage} works with. It closes both when it is closed. */
export interface PostgresStorageParts {
  readonly pool: Pool;
  /** Undefined in a process that only produces. */
  readonly control: ControlConnections | undefined;
  /** What stands between the pool and the database. */
  readonly reach: Reach;
  /** True when workers of nsj-queue-lib serve the same table. */
  readonly interop: boolean;
  readonly schema: SchemaRequest;
  /** Told what `prepare` made, and what deserves a word. */
  readonly onPrepared?: (prepared: PreparedSchema) => void;
}

/** {@link Storage} on PostgreSQL 13 or newer. */
export class PostgresStorage implements Storage {
  readonly #parts: PostgresStorageParts;
  readonly #locks: TaskLocks | undefined;
  #statements: QueueStatements | undefined;
  #queue: QueueIdentity | undefined;
  #prepared: PreparedSchema | undefined;
  /** Given last when partitions were made. */
  #lastId: bigint | undefined;

  constructor(parts: PostgresStorageParts) {
    this.#parts = parts;
    if (parts.interop && parts.control) this.#locks = new TaskLocks(parts.control.first);
  }

  async prepare(): Promise<void> {
    const prepared = await prepareSchema((work) => this.inTransaction(work), this.#parts.schema).catch(
      rethrow,
    );
    if (prepared.isPartitioned && this.#parts.interop) throw noInterop(prepared.tables);
    this.#statements = queueStatements(prepared.tables);
    this.#prepared = prepared;
    this.#queue = { identity: prepared.identity, qualifiedName: prepared.tables.qualifiedName };
    const warnings = [...prepared.warnings];
    if (this.#parts.control) {
      await this.makePartitions().catch((error: unknown) => warnings.push((error as Error).message));
    }
    this.#parts.onPrepared?.({ ...prepared, warnings });
  }

  async registerWorker(worker: WorkerDescription): Promise<WorkerId> {
    const { host, pid, version, concurrency, routes } = worker;
    const values = [host, pid, version, concurrency, [...routes]];
    const { rows } = await this.#onPool(this.#sql.registerWorker, values);
    return String(rows[0]?.['id']);
  }

  async retireWorker(workerId: WorkerId, why: 'stopped' | 'lost'): Promise<void> {
    await this.#onControl(this.#sql.retireWorker, [workerId, why === 'lost']);
  }

  async settleAndClaim(
    workerId: WorkerId,
    completions: readonly Completion[],
    request?: ClaimRequest,
    lane: Lane = 'first',
  ): Promise<SettleAndClaimResult> {
    const settling = settleValues(workerId, completions);
    if (!request) return this.#readSettled(await this.#onControl(this.#sql.settle, settling, lane), []);
    const locks = this.#locks;
    const statement = this.#sql.settleAndClaim(claimForm(request, locks !== undefined));
    const values = [...settling, ...claimValues(request), ...(locks ? [locks.leftOut] : [])];
    const rows = await this.#onControl(statement, values, lane).catch((error: unknown) => {
      locks?.doubt();
      throw error;
    });
    const result = this.#readSettled(rows, request.stretches);
    locks?.learn(workerId, result.claimed, readIds(rows[0]?.['refused']) ?? []);
    return result;
  }

  async keepTaskLocks(workerId: WorkerId, held: readonly string[]): Promise<boolean> {
    return this.#locks?.keep(workerId, held).catch(rethrow) ?? true;
  }

  async takeOver(workerId: WorkerId, limit: number): Promise<readonly HeldTask[]> {
    const rows = await this.#onControl(this.#sql.takeOver, [workerId, limit]);
    return rows.map((row) => readHeldRow(row, workerId, this.#identity));
  }

  #readSettled(rows: readonly TextRow[], stretches: readonly Stretch[]): SettleAndClaimResult {
    return readSettled(rows, stretches, this.#identity);
  }

  async fail(failures: readonly Failure[]): Promise<readonly FailureOutcome[]> {
    const rows = await this.#onControl(this.#sql.fail, failureValues(failures));
    return rows.map((row) => ({
      id: String(row['id']),
      nextAttemptInMs: row['next_ms'] == null ? undefined : Number(row['next_ms']),
      deadId: row['dead_id'] ?? undefined,
    }));
  }

  async release(workerId: WorkerId, claims: readonly Claim[]): Promise<readonly string[]> {
    const ids = claims.map(({ id }) => id);
    const reservations = claims.map(({ reservation }) => reservation);
    const rows = await this.#onControl(this.#sql.release, [ids, reservations, workerId]);
    return rows.map((row) => String(row['id']));
  }

  async promote(limit: number): Promise<PromoteResult> {
    const [row] = await this.#onControl(this.#sql.promote, [limit]);
    const nextDue = row?.['next_due_ms'];
    return {
      promoted: Number(row?.['promoted'] ?? 0),
      earliest: row?.['earliest'] ?? undefined,
      nextDueInMs: nextDue == null ? undefined : Number(nextDue),
      isolated: readBoolean(row?.['isolated']),
    };
  }

  async nextDue(workerId: WorkerId | undefined): Promise<NextDue> {
    const [row] = await this.#onControl(this.#sql.nextDue, [workerId ?? null]);
    const inMs = row?.['next_due_ms'];
    return { inMs: inMs == null ? undefined : Number(inMs), holding: readBoolean(row?.['holding']) };
  }

  async pendingRoutes(): Promise<readonly Route[]> {
    const rows = await this.#onControl(this.#sql.pendingRoutes, []);
    return rows.map((row) => String(row['route']));
  }

  async pausedRoutes(): Promise<readonly Route[]> {
    const rows = await this.#onControl(this.#sql.pausedRoutes, []);
    return rows.map((row) => String(row['route']));
  }

  async fanOut(workerId: WorkerId, publications: readonly Claim[]): Promise<readonly FanOutOutcome[]> {
    if (this.#parts.schema.subscriptionTable === undefined) {
      throw new TarefaError(
        'SUBSCRIPTIONS_UNAVAILABLE',
        'a publication was inserted, but this queue has no subscriptions table: set subscriptionTable (or QUEUE_SUBSCRIBER_TABLE)',
      );
    }
    const ids = publications.map(({ id }) => id);
    const reservations = publications.map(({ reservation }) => reservation);
    const { rows } = await this.#onPool(this.#sql.fanOut, [ids, reservations, workerId]).catch(
      (error: unknown) => {
        throw explainFanOut(error);
      },
    );
    return rows.map((row) => ({ id: String(row['id']), deliveries: Number(row['deliveries']) }));
  }

  async loadPayload(id: string): Promise<string | null> {
    const { rows } = await this.#onPool(this.#sql.loadPayload, [id]);
    return (rows[0]?.['payload'] as string | null | undefined) ?? null;
  }

  transaction(workerId: WorkerId): TaskTransaction {
    const { pool, reach } = this.#parts;
    return new PostgresTransaction({ pool, reach, complete: this.#sql.completeOrRaise, workerId });
  }

  group(workerId: WorkerId): TaskGroup {
    const { pool, reach } = this.#parts;
    return new PostgresGroup({ pool, reach, complete: this.#sql.completeManyOrRaise, workerId });
  }

  async completeIn(tx: SqlHandle, workerId: WorkerId, completion: Completion): Promise<void> {
    const { id, reservation, message, result } = completion;
    const { rows } = await tx.query(this.#sql.completeElsewhere.text, [
      id,
      workerId,
      reservation,
      message,
      result,
    ]);
    if (rows.length === 0) {
      throw new TarefaError('TASK_LOST', `attempt ${id} no longer belongs to this worker: roll back`);
    }
  }

  async readOutcome(workerId: WorkerId, claim: Claim): Promise<AttemptOutcome> {
    const { rows } = await this.#onPool(this.#sql.readOutcome, [claim.id]);
    const row = rows[0];
    const isOurs = String(row?.['executor']) === workerId && Number(row?.['reserva']) === claim.reservation;
    return (isOurs && outcomes.get(row?.['status'])) || 'lost';
  }

  async readHeld(workerId: WorkerId, limit: number, lost = false): Promise<readonly HeldTask[]> {
    const rows = await this.#onControl(this.#sql.readHeld, [workerId, limit, lost]);
    return rows.map((row) => readHeldRow(row, workerId, this.#identity));
  }

  async stillHeld(workerId: WorkerId, ids: readonly string[]): Promise<readonly Claim[]> {
    const rows = await this.#onControl(this.#sql.stillHeld, [workerId, ids]);
    return rows.map((row) => ({ id: String(row['id']), reservation: Number(row['reserva']) }));
  }

  async unregisteredHolders(): Promise<readonly WorkerId[]> {
    const rows = await this.#onControl(this.#sql.unregisteredHolders, []);
    return rows.map((row) => String(row['id']));
  }

  async confirmLost(missing: readonly WorkerId[], missingForMs: number): Promise<readonly WorkerId[]> {
    const rows = await this.#onControl(this.#sql.confirmLost, [missing, missingForMs]);
    return rows.map((row) => String(row['id']));
  }

  async hasOverdue(olderThanMs: number): Promise<boolean> {
    const { rows } = await this.#onPool(this.#sql.hasOverdue, [olderThanMs]);
    return rows[0]?.['overdue'] === true;
  }

  async makePartitions(): Promise<void> {
    const { tables } = this.#tables;
    this.#lastId = await makePartitions((work) => this.inTransaction(work), tables, this.#lastId).catch(
      rethrow,
    );
  }

  async dropPartitions(olderThanDays: number): Promise<PartitionPurge> {
    const run: RunTransaction = (work) => this.inTransaction(work);
    const parts = { run, tables: this.#tables.tables, statements: this.#sql };
    return dropPartitions(parts, olderThanDays).catch(rethrow);
  }

  async findPurgeable(look: PurgeLook): Promise<PurgeableWindow> {
    return this.inTransaction((tx) => findPurgeable(tx, this.#sql, look)).catch(rethrow);
  }

  async purge(ids: readonly string[]): Promise<number> {
    return this.inTransaction((tx) => purgeWhole(tx, this.#sql, ids)).catch(rethrow);
  }

  async forgetWorkers(olderThanDays: number): Promise<void> {
    await this.#onPool(this.#sql.forgetWorkers, [olderThanDays]);
  }

  async close(): Promise<void> {
    const { control } = this.#parts;
    if (control) await Promise.all([control.first.close(), control.second.close()]);
    await this.#parts.pool.end();
  }

  /** Runs work in a transaction of its own on a connection of the pool. */
  inTransaction<T>(work: (tx: SqlHandle) => Promise<T>): Promise<T> {
    return inTransaction(this.#parts.pool, work);
  }

  get #sql(): QueueStatements {
    if (!this.#statements) throw new Error('the storage is not prepared');
    return this.#statements;
  }

  get #tables(): PreparedSchema {
    if (!this.#prepared) throw new Error('the storage is not prepared');
    return this.#prepared;
  }

  get #identity(): QueueIdentity {
    if (!this.#queue) throw new Error('the storage is not prepared');
    return this.#queue;
  }

  #onControl(
    statement: Statement,
    values: readonly unknown[],
    lane: Lane = 'first',
  ): ReturnType<ControlConnection['query']> {
    const connection = this.#parts.control?.[lane];
    if (!connection) throw new Error('this process only produces: it has no connection to claim with');
    return connection.query(statement, values).catch(rethrow);
  }

  #onPool(statement: Statement, values: readonly unknown[]): Promise<QueryResult<Record<string, unknown>>> {
    return this.#parts.pool
      .query<Record<string, unknown>>(asQuery(statement, this.#parts.reach, values))
      .catch(rethrow);
  }
}

const outcomes = new Map<unknown, AttemptOutcome>([
  [statusColumn.succeeded, 'completed'],
  [statusColumn.failed, 'failed'],
  [statusColumn.processing, 'held'],
]);

/** Lets the layers above see a lost connection without knowing the driver. */
function rethrow(error: unknown): never {
  throw wrapConnectionError(error, 'the database did not answer');
}
