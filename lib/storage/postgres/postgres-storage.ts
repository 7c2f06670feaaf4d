import type { QueryResult } from 'pg';
import type { SqlHandle } from '../sql-handle.js';
import type {
  AttemptOutcome,
  Claim,
  ClaimedTask,
  ClaimRequest,
  Completion,
  Failure,
  FailureOutcome,
  FanOutOutcome,
  ForeignLocks,
  HeldTask,
  Lane,
  NextDue,
  PromoteResult,
  Route,
  SettleAndClaimResult,
  Storage,
  TaskGroup,
  TaskTransaction,
  WorkerDescription,
  WorkerId,
} from '../storage.js';
import type { PartitionPurge, PurgeableWindow, PurgeLook } from '../purge-look.js';
import type { DeclaredSubscription, SubscriptionRow } from '../declared-subscription.js';
import type { ServedRoutes, WaitingRoute } from '../waiting-route.js';
import { wrapConnectionError } from './connections/connection-config.js';
import type { ControlConnection } from './connections/control-connection.js';
import { declareSubscriptions } from './declare-subscriptions.js';
import { findForeignLocks } from './interop/foreign-locks.js';
import { HeldTasks } from './held-tasks.js';
import { inTransaction } from './connections/in-transaction.js';
import { PostgresGroup } from './postgres-group.js';
import type { PostgresStorageParts, PreparedParts } from './postgres-storage-parts.js';
import { PostgresTransaction } from './postgres-transaction.js';
import { noInterop } from './partitions/no-interop.js';
import { QueueLooks } from './queue-looks.js';
import type { RunTransaction } from './partitions/short-transaction.js';
import { prepareSchema, type PreparedSchema } from './schema/prepare-schema.js';
import { claimForm, claimValues, failureValues, settleValues } from './claim-values.js';
import {
  attemptOutcomes,
  readClaimed,
  readFailed,
  readIds,
  readSettled,
  type QueueIdentity,
} from './read-rows.js';
import { asQuery } from './connections/pooler.js';
import type { Statement } from './statement.js';
import { storableTexts, type StorableTexts } from './storable-texts.js';
import { queueStatements, type QueueStatements } from './statements.js';
import { TaskLocks } from './interop/task-locks.js';
import { explainFanOut, lostElsewhere, noSubscriptions } from './transaction-errors.js';
import { UnreadableTasks, type AskControl } from './unreadable-tasks.js';
import { Upkeep } from './upkeep.js';
import type { UnreadableAmong, UnreadableTask } from '../unreadable-task.js';

/** {@link Storage} on PostgreSQL 13 or newer. */
export class PostgresStorage implements Storage {
  readonly #parts: PostgresStorageParts;
  readonly #locks: TaskLocks | undefined;
  #made: PreparedParts | undefined;

  constructor(parts: PostgresStorageParts) {
    this.#parts = parts;
    if (parts.interop && parts.control) this.#locks = new TaskLocks(parts.control.first);
  }

  async prepare(): Promise<void> {
    const prepared = await prepareSchema((work) => this.inTransaction(work), this.#parts.schema).catch(
      rethrow,
    );
    if (prepared.isPartitioned && this.#parts.interop) throw noInterop(prepared.tables);
    const sql = queueStatements(prepared.tables);
    const run: RunTransaction = (work) => this.inTransaction(work);
    this.#made = {
      sql,
      prepared,
      texts: storableTexts(prepared.encoding),
      upkeep: new Upkeep({ ask: this.#ask, run, sql, tables: prepared.tables }),
    };
    const warnings = [...prepared.warnings];
    if (this.#parts.control) {
      await this.makePartitions().catch((error: unknown) => warnings.push((error as Error).message));
    }
    this.#parts.onPrepared?.({ ...prepared, warnings });
  }

  async registerWorker(worker: WorkerDescription): Promise<WorkerId> {
    const { host, pid, version, concurrency, routes, deadRoutes } = worker;
    const values = [host, pid, version, concurrency, [...routes], [...deadRoutes]];
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
    const settling = settleValues(
      workerId,
      completions.map((completion) => this.#storable.completion(completion)),
    );
    const identity = this.#identity;
    if (!request) return readSettled(await this.#onControl(this.#sql.settle, settling, lane), [], identity);
    const locks = this.#locks;
    const statement = this.#sql.settleAndClaim(claimForm(request, locks !== undefined));
    const values = [...settling, ...claimValues(request), ...(locks ? [locks.leftOut] : [])];
    const rows = await this.#onControl(statement, values, lane).catch((error: unknown) => {
      locks?.doubt();
      throw error;
    });
    const result = readSettled(rows, request.stretches, identity);
    locks?.learn(workerId, result.claimed, readIds(rows[0]?.['refused']) ?? []);
    return result;
  }

  laneOpening(lane: Lane): Promise<void> | undefined {
    return this.#parts.control?.[lane].opening();
  }

  async keepTaskLocks(workerId: WorkerId, held: readonly string[]): Promise<boolean> {
    return this.#locks?.keep(workerId, held).catch(rethrow) ?? true;
  }

  async claimUnattended(workerId: WorkerId, limit: number): Promise<readonly ClaimedTask[]> {
    const locks = this.#locks;
    const statement = this.#sql.claimUnattended(locks !== undefined);
    const rows = await this.#onControl(statement, [workerId, limit]).catch((error: unknown) => {
      locks?.doubt();
      throw error;
    });
    const claimed = rows.map((row) => readClaimed(row, this.#identity));
    locks?.learn(workerId, claimed, []);
    return claimed;
  }

  async endUnreadable(workerId: WorkerId, among: UnreadableAmong): Promise<readonly UnreadableTask[]> {
    const leftOut = this.#locks && [this.#locks.leftOut];
    return new UnreadableTasks(this.#ask, this.#sql).end(workerId, among, leftOut);
  }

  async takeOver(workerId: WorkerId, limit: number): Promise<readonly HeldTask[]> {
    return this.#held.takeOver(workerId, limit);
  }

  findForeignLocks(): Promise<ForeignLocks> {
    return findForeignLocks(async () => (await this.#onControl(this.#sql.clientServerSigns, []))[0]);
  }

  async fail(failures: readonly Failure[]): Promise<readonly FailureOutcome[]> {
    const storable = failures.map((failure) => this.#storable.failure(failure));
    const rows = await this.#onControl(this.#sql.fail, failureValues(storable));
    return rows.map(readFailed);
  }

  async release(workerId: WorkerId, claims: readonly Claim[]): Promise<readonly string[]> {
    const ids = claims.map(({ id }) => id);
    const reservations = claims.map(({ reservation }) => reservation);
    const rows = await this.#onControl(this.#sql.release, [ids, reservations, workerId]);
    return rows.map((row) => String(row['id']));
  }

  promote(limit: number): Promise<PromoteResult> {
    return this.#looks.promote(limit);
  }

  nextDue(workerId: WorkerId, asksHeld: boolean, served: ServedRoutes): Promise<NextDue> {
    return this.#looks.nextDue(workerId, asksHeld, served);
  }

  wouldClaim(request: ClaimRequest): Promise<boolean> {
    return this.#looks.wouldClaim(request);
  }

  isHalted(workerId: WorkerId): Promise<boolean> {
    return this.#looks.isHalted(workerId);
  }

  pendingRoutes(): Promise<readonly Route[]> {
    return this.#looks.pendingRoutes();
  }

  pausedRoutes(): Promise<readonly Route[]> {
    return this.#looks.pausedRoutes();
  }

  waitingRoutes(): Promise<readonly WaitingRoute[]> {
    return this.#looks.waitingRoutes();
  }

  async declareSubscriptions(declared: readonly DeclaredSubscription[]): Promise<readonly SubscriptionRow[]> {
    return declareSubscriptions(this.#parts.pool, this.#tables.tables, declared).catch(rethrow);
  }

  async fanOut(workerId: WorkerId, publications: readonly Claim[]): Promise<readonly FanOutOutcome[]> {
    if (this.#parts.schema.subscriptionTable === undefined) throw noSubscriptions();
    const ids = publications.map(({ id }) => id);
    const reservations = publications.map(({ reservation }) => reservation);
    const statement = this.#tables.seals ? this.#sql.fanOut : this.#sql.fanOutUnsealed;
    const { rows } = await this.#onPool(statement, [ids, reservations, workerId]).catch((error: unknown) => {
      throw explainFanOut(error);
    });
    return rows.map((row) => ({ id: String(row['id']), deliveries: Number(row['deliveries']) }));
  }

  async loadPayload(id: string): Promise<string | null> {
    const { rows } = await this.#onPool(this.#sql.loadPayload, [id]);
    return (rows[0]?.['payload'] as string | null | undefined) ?? null;
  }

  transaction(workerId: WorkerId): TaskTransaction {
    const { pool, reach } = this.#parts;
    const complete = this.#sql.completeOrRaise;
    return new PostgresTransaction({ pool, reach, complete, texts: this.#storable, workerId });
  }

  group(workerId: WorkerId): TaskGroup {
    const { pool, reach } = this.#parts;
    const complete = this.#sql.completeManyOrRaise;
    return new PostgresGroup({ pool, reach, complete, texts: this.#storable, workerId });
  }

  async completeIn(tx: SqlHandle, workerId: WorkerId, completion: Completion): Promise<void> {
    const { id, reservation, message, result } = this.#storable.completion(completion);
    const values = [id, workerId, reservation, message, result];
    const { rows } = await tx.query(this.#sql.completeElsewhere.text, values);
    if (rows.length === 0) throw lostElsewhere(id);
  }

  async readOutcome(workerId: WorkerId, claim: Claim): Promise<AttemptOutcome> {
    const { rows } = await this.#onPool(this.#sql.readOutcome, [claim.id]);
    const row = rows[0];
    const isOurs = String(row?.['executor']) === workerId && Number(row?.['reserva']) === claim.reservation;
    return (isOurs && attemptOutcomes.get(row?.['status'])) || 'lost';
  }

  async readHeld(workerId: WorkerId, limit: number, lost = false): Promise<readonly HeldTask[]> {
    return this.#held.of(workerId, limit, lost);
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

  async makePartitions(): Promise<void> {
    await this.#ready.upkeep.makePartitions().catch(rethrow);
  }

  async dropPartitions(olderThanDays: number): Promise<PartitionPurge> {
    return this.#ready.upkeep.dropPartitions(olderThanDays).catch(rethrow);
  }

  async findPurgeable(look: PurgeLook): Promise<PurgeableWindow> {
    return this.#ready.upkeep.findPurgeable(look).catch(rethrow);
  }

  async purge(ids: readonly string[]): Promise<number> {
    return this.#ready.upkeep.purge(ids).catch(rethrow);
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

  get #ready(): PreparedParts {
    if (!this.#made) throw new Error('the storage is not prepared');
    return this.#made;
  }

  get #sql(): QueueStatements {
    return this.#ready.sql;
  }

  get #storable(): StorableTexts {
    return this.#ready.texts;
  }

  get #tables(): PreparedSchema {
    return this.#ready.prepared;
  }

  get #held(): HeldTasks {
    return new HeldTasks(this.#ask, this.#sql, this.#identity);
  }

  get #looks(): QueueLooks {
    return new QueueLooks({ ask: this.#ask, sql: this.#sql, interop: this.#parts.interop });
  }

  get #identity(): QueueIdentity {
    const { identity, tables } = this.#tables;
    if (identity === undefined) throw new Error('a process that only produces claims no tasks');
    return { identity, qualifiedName: tables.qualifiedName };
  }

  readonly #ask: AskControl = (statement, values) => this.#onControl(statement, values);

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

/** Lets the layers above see a lost connection without knowing the driver. */
function rethrow(error: unknown): never {
  throw wrapConnectionError(error, 'the database did not answer');
}
