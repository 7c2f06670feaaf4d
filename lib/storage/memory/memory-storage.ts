import type { SqlHandle } from '../sql-handle.js';
import { TarefaError } from '../../errors.js';
import { column, statusColumn } from '../columns.js';
import { readClaimedTask, readHeldTask, type QueueIdentity } from '../task-row.js';
import type {
  AttemptOutcome,
  Claim,
  Completion,
  Failure,
  FailureOutcome,
  FanOutOutcome,
  HeldTask,
  NextDue,
  PromoteResult,
  RetryTime,
  Route,
  RouteDemand,
  WorkerId,
} from '../attempt.js';
import type { ClaimDemand, Claims, SettleAndClaimResult } from '../claims.js';
import type { AttemptStore } from '../attempts.js';
import type { QueueDatabase } from '../database.js';
import type { Upkeep } from '../upkeep.js';
import type { WorkerRegistry } from '../workers.js';
import type { TaskGroup, TaskTransaction, TaskTransactions } from '../transactions.js';
import { memoryEndpoints } from './memory-endpoints.js';
import { MemoryInserts } from './memory-inserts.js';
import { MemorySubscriptions } from './memory-subscriptions.js';
import { instant, type MemoryRow, type MemoryTable } from './memory-table.js';
import { MemoryTransaction } from './memory-transaction.js';
import { needsDatabase } from './needs-database.js';

const outcomes = new Map<unknown, AttemptOutcome>([
  [statusColumn.succeeded, 'completed'],
  [statusColumn.failed, 'failed'],
  [statusColumn.processing, 'held'],
]);

/**
 * {@link Storage} in memory, for unit tests: the life of a task with its retries, dead chains and deliveries, for one
 * worker. What only several sessions can show is an error that says so.
 */
export class MemoryStorage implements QueueDatabase, AttemptStore, TaskTransactions, WorkerRegistry, Upkeep {
  readonly attempts = this;
  readonly transactions = this;
  readonly workers = this;
  readonly upkeep = this;
  readonly inserts: MemoryInserts;
  readonly subscriptions: MemorySubscriptions;
  readonly endpoints = memoryEndpoints;
  readonly #table: MemoryTable;
  readonly #queue: QueueIdentity;
  readonly #db: SqlHandle | undefined;

  constructor(table: MemoryTable, queue: QueueIdentity, db: SqlHandle | undefined) {
    this.#table = table;
    this.inserts = new MemoryInserts(table);
    this.subscriptions = new MemorySubscriptions(table);
    this.#queue = queue;
    this.#db = db;
  }

  async prepare(): Promise<void> {}

  async register(): Promise<WorkerId> {
    return '1';
  }

  async retire(): Promise<void> {}

  claimsOf(workerId: WorkerId): Claims {
    return {
      parallel: 1,
      openAnother: () => undefined,
      settleAndClaim: async (completions, demand) => this.#settleAndClaim(workerId, completions, demand),
      heard: () => undefined,
      invalidate: () => undefined,
      claimUnattended: async () => [],
      wouldClaim: async (routes) => this.#claimable(routes).length > 0,
      endUnreadable: async () => [],
    };
  }

  async failMany(failures: readonly Failure[]): Promise<readonly FailureOutcome[]> {
    return failures.map((failure) => this.#fail(failure));
  }

  async releaseMany(_workerId: WorkerId, claims: readonly Claim[]): Promise<readonly string[]> {
    for (const claim of claims) this.#held(claim)['status'] = statusColumn.pending;
    return claims.map(({ id }) => id);
  }

  async promote(limit: number): Promise<PromoteResult> {
    const waiting = this.#table.rows
      .filter((row) => row['status'] === statusColumn.scheduled)
      .sort((a, b) => dueMs(a) - dueMs(b));
    const due = waiting.filter((row) => dueMs(row) <= this.#table.nowMs).slice(0, limit);
    for (const row of due) row['status'] = statusColumn.pending;
    const next = waiting.find((row) => !due.includes(row));
    return {
      promoted: due.length,
      earliestMs: due[0] && dueMs(due[0]),
      nextDueInMs: next && dueMs(next) - this.#table.nowMs,
      isolated: false,
    };
  }

  async nextDue(): Promise<NextDue> {
    const inMs = this.#table.due().length > 0 ? 0 : (await this.promote(0)).nextDueInMs;
    return { inMs, pending: [], holding: false, halted: false };
  }

  async isHalted(): Promise<boolean> {
    return false;
  }

  async pausedRoutes(): Promise<readonly Route[]> {
    return [];
  }

  async pendingRoutes(): Promise<readonly Route[]> {
    return [...new Set(this.#table.due().map((row) => this.#table.routeOf(row)))];
  }

  async fanOutMany(_workerId: WorkerId, publications: readonly Claim[]): Promise<readonly FanOutOutcome[]> {
    return publications.map((claim) => this.#deliver(claim));
  }

  async loadPayload(id: string): Promise<string | null> {
    const row = this.#table.row(id);
    return row ? this.#table.payloadOf(row) : null;
  }

  begin(): TaskTransaction {
    return new MemoryTransaction(this.#db, (completion) => this.#complete(completion));
  }

  /** Each task's own: there is nothing that they could share. */
  beginGroup(): TaskGroup {
    const over = Promise.resolve();
    return {
      next: () => Object.assign(this.begin(), { over, disturbed: false }),
      broken: false,
      commit: () => over,
    };
  }

  async completeIn(_tx: SqlHandle, _workerId: WorkerId, completion: Completion): Promise<void> {
    this.#complete(completion);
  }

  async readOutcome(_workerId: WorkerId, { id }: Claim): Promise<AttemptOutcome> {
    return outcomes.get(this.#table.row(id)?.['status']) ?? 'lost';
  }

  async heldBy(workerId: WorkerId, limit: number): Promise<readonly HeldTask[]> {
    return this.#table.rows
      .filter((row) => row['status'] === statusColumn.processing)
      .slice(0, limit)
      .map((row) => readHeldTask({ ...row, route: this.#table.routeOf(row) }, workerId, this.#queue));
  }

  async stillHeld(_workerId: WorkerId, ids: readonly string[]): Promise<readonly Claim[]> {
    return ids.flatMap((id) => {
      const row = this.#table.row(id);
      return row?.['status'] === statusColumn.processing ? [{ id, reservation: Number(row['reserva']) }] : [];
    });
  }

  async unregisteredHolders(): Promise<never> {
    throw needsDatabase('recovery');
  }

  async confirmLost(): Promise<never> {
    throw needsDatabase('recovery');
  }

  async waitingRoutes(): Promise<readonly []> {
    return [];
  }

  async prepareAhead(): Promise<void> {}

  async dropPartitions(): Promise<never> {
    throw needsDatabase('the purge');
  }

  async findPurgeable(): Promise<never> {
    throw needsDatabase('the purge');
  }

  async purge(): Promise<never> {
    throw needsDatabase('the purge');
  }

  async forget(): Promise<void> {}

  classify(): 'other' {
    return 'other';
  }

  async close(): Promise<void> {}

  #settleAndClaim(
    workerId: WorkerId,
    completions: readonly Completion[],
    demand: ClaimDemand | undefined,
  ): SettleAndClaimResult {
    for (const completion of completions) this.#complete(completion);
    const rows = demand ? this.#claimable(demand.routes).slice(0, demand.total) : [];
    return {
      settledOnly: undefined,
      claimed: rows.map((row) => this.#claim(row, workerId)),
      blockedRoutes: [],
      claimAgain: false,
      lookAgainInMs: undefined,
    };
  }

  #claimable(routes: readonly RouteDemand[]): readonly MemoryRow[] {
    const demands = new Map(routes.map((demand) => [demand.route, demand]));
    return this.#table.due().filter((row) => {
      const demand = demands.get(this.#table.routeOf(row));
      return demand && (demand.only === undefined || (demand.only === 'dead') === (row['dead'] === 'true'));
    });
  }

  #held({ id, reservation }: Claim): MemoryRow {
    const row = this.#table.row(id);
    if (row?.['status'] === statusColumn.processing && row['reserva'] === String(reservation)) return row;
    throw new TarefaError('TASK_LOST', `attempt ${id} no longer belongs to this worker`);
  }

  #claim(row: MemoryRow, workerId: WorkerId): SettleAndClaimResult['claimed'][number] {
    this.hold(row, workerId);
    const live = row['live_id'];
    const keyTime = live == null ? null : (this.#table.row(live)?.['data_hora_inicial'] ?? null);
    const payload = this.#table.payloadOf(row);
    return readClaimedTask(
      { ...row, key_time: keyTime, payload_inline: payload, payload_bytes: null },
      this.#queue,
    );
  }

  /** Makes a row the worker's. */
  hold(row: MemoryRow, workerId: WorkerId): void {
    row['status'] = statusColumn.processing;
    row['executor'] = workerId;
    row['reserva'] = String(Number(row['reserva']) + 1);
    row[column.startedAt] = instant(this.#table.nowMs);
  }

  #complete(completion: Completion): void {
    Object.assign(this.#held(completion), {
      status: statusColumn.succeeded,
      mensagem: completion.message,
      resultado: completion.result,
      finalizada_em: instant(this.#table.nowMs),
    });
  }

  #fail(failure: Failure): FailureOutcome {
    const row = this.#held(failure);
    const attempt = Number(row['tentativa']);
    const { next, note, id } = failure;
    const retried = next !== undefined;
    Object.assign(row, {
      status: statusColumn.failed,
      mensagem: failure.message.slice(0, 500 - note.length) + note,
      erro: failure.error,
      finalizada_em: instant(this.#table.nowMs),
      reenfileirado: String(retried),
      estouro_tentativas: String(!retried),
      proxima_tentativa: next ? instant(this.#nextDueMs(row, next)) : null,
    });
    if (!next) return { id, nextAttemptInMs: undefined, deadId: this.#bury(row) };
    const nextMs = this.#nextDueMs(row, next);
    this.#table.add({
      ...this.#table.copyOf(row),
      id_inicial: row['id_inicial'] ?? id,
      data_hora_inicial: row['data_hora_inicial'] ?? null,
      data_hora: instant(nextMs),
      tentativa: String(attempt + 1),
      status: statusColumn.scheduled,
      id_anterior: id,
      dead: row['dead'] ?? null,
      live_id: row['live_id'] ?? null,
      perdas: String(failure.nextLosses),
    });
    return { id, nextAttemptInMs: nextMs - this.#table.nowMs, deadId: undefined };
  }

  #nextDueMs(row: MemoryRow, next: RetryTime): number {
    if (next.kind === 'at') return next.date.getTime();
    return (next.kind === 'after-due' ? dueMs(row) : this.#table.nowMs) + next.delayMs;
  }

  #bury(row: MemoryRow): string | undefined {
    if (row['dead'] === 'true') return undefined;
    const dead = this.#table.add({
      ...this.#table.copyOf(row),
      payload: this.#table.payloadOf(row),
      dead: 'true',
      live_id: row['id_inicial'] ?? row['id'] ?? null,
    });
    return dead['id'] ?? undefined;
  }

  #deliver(claim: Claim): FanOutOutcome {
    const row = this.#held(claim);
    const matching = [...this.#table.subscriptions.values()].filter(
      (subscription) => subscription['processo'] === row['processo'],
    );
    for (const subscription of matching) {
      this.#table.add({
        ...this.#table.copyOf(row),
        pub_sub: 'false',
        payload: JSON.stringify({ publication: this.#table.payloadOf(row), subscription }),
        publication_id: row['id_inicial'] ?? claim.id,
        subscriber_id: String(subscription['id']),
      });
    }
    const deliveries = matching.length;
    const message =
      deliveries === 0
        ? 'discarded: no active subscription matches'
        : `delivered to ${deliveries} subscription${deliveries === 1 ? '' : 's'}`;
    this.#complete({ ...claim, message, result: null });
    return { id: claim.id, deliveries };
  }
}

function dueMs(row: MemoryRow): number {
  return Date.parse(row['data_hora'] ?? '');
}
