import { column, statusColumn } from '../columns.js';
import type {
  AttemptOutcome,
  Claim,
  Failure,
  FailureOutcome,
  FanOutOutcome,
  HeldTask,
  NextDue,
  PromoteResult,
  ProgressNote,
  PublicationClaim,
  RetryTime,
  Route,
  StandingClaim,
  UnfollowedAttempt,
  WorkerId,
} from '../attempt.js';
import type { AttemptStore } from '../attempts.js';
import { readEndedBy } from '../cancellation.js';
import { attemptOutcomes, readHeldTask, readStanding, type QueueIdentity } from '../task-row.js';
import {
  unknownAtOnce,
  type AwaitedRoutes,
  type RouteHead,
  type RouteRange,
  type WaitingRoute,
} from '../waiting-route.js';
import { deliver, isMatched } from './deliver.js';
import { followerOf, startDeadChain } from './memory-chain.js';
import { lacksDeadTask, lacksNextAttempt } from './memory-check.js';
import {
  compareAge,
  comparePickUp,
  dueMs,
  instant,
  isCancelled,
  isDead,
  isHeldBy,
  isIsolated,
  isPending,
  isScheduled,
  routeOf,
  type MemoryRow,
} from './memory-row.js';
import type { MemoryTable } from './memory-table.js';
import { isDeadFor, waitingRoutes } from './memory-waiting.js';

/** Longest message, in characters. */
const messageLength = 500;

/** {@link AttemptStore} in memory. */
export class MemoryAttempts implements AttemptStore {
  readonly #table: MemoryTable;
  readonly #queue: QueueIdentity;

  constructor(table: MemoryTable, queue: QueueIdentity) {
    this.#table = table;
    this.#queue = queue;
  }

  async failMany(failures: readonly Failure[]): Promise<readonly FailureOutcome[]> {
    return failures.flatMap((failure) => {
      const row = this.#table.held(failure.workerId, failure);
      return row ? [this.#fail(row, failure)] : [];
    });
  }

  async snoozeMany(snoozed: readonly Failure[]): Promise<readonly FailureOutcome[]> {
    return snoozed.flatMap(({ id, workerId, reservation, message, next }): FailureOutcome[] => {
      const row = this.#table.held(workerId, { id, reservation });
      if (!row || !next) return [];
      row['executor'] = null;
      if (isCancelled(row)) {
        this.#end(row);
        return [{ id, nextAttemptInMs: undefined, deadId: undefined, cancelled: readEndedBy(row) }];
      }
      const nextMs = this.#dueMsOf(row, next);
      Object.assign(row, {
        [column.status]: statusColumn.scheduled,
        [column.startedAt]: null,
        [column.message]: message.slice(0, messageLength),
        [column.dueAt]: instant(nextMs),
      });
      return [{ id, nextAttemptInMs: nextMs - this.#table.nowMs, deadId: undefined, snoozed: true }];
    });
  }

  async noteProgress(workerId: WorkerId, notes: readonly ProgressNote[]): Promise<void> {
    for (const note of notes) {
      const row = this.#table.held(workerId, note);
      if (row && !isCancelled(row)) row[column.message] = note.message;
    }
  }

  async releaseMany(workerId: WorkerId, claims: readonly Claim[]): Promise<readonly string[]> {
    return claims.flatMap((claim) => {
      const row = this.#table.held(workerId, claim);
      if (!row) return [];
      Object.assign(row, { executor: null, [column.startedAt]: null });
      if (isCancelled(row)) this.#end(row);
      else row[column.status] = statusColumn.pending;
      return [claim.id];
    });
  }

  async handOver(claim: Claim, from: WorkerId, to: WorkerId): Promise<boolean> {
    const row = this.#table.held(from, claim) ?? this.#table.held(to, claim);
    if (!row || isCancelled(row)) return false;
    row['executor'] = to;
    return true;
  }

  async fanOutMany(
    workerId: WorkerId,
    publications: readonly PublicationClaim[],
  ): Promise<readonly FanOutOutcome[]> {
    return publications.flatMap((claim) => {
      const row = this.#table.held(workerId, claim);
      if (!row || (claim.waits && !isMatched(this.#table, row))) return [];
      return [{ id: claim.id, deliveries: deliver(this.#table, row) }];
    });
  }

  async promote(limit: number): Promise<PromoteResult> {
    const waiting = this.#table.rows.filter(isScheduled).sort(compareAge);
    const due = waiting.filter((row) => dueMs(row) <= this.#table.nowMs).slice(0, limit);
    for (const row of due) row[column.status] = statusColumn.pending;
    const next = waiting.find((row) => !due.includes(row));
    return {
      promoted: due.length,
      earliestMs: due[0] && dueMs(due[0]),
      nextDueInMs: next && dueMs(next) - this.#table.nowMs,
      isolated: this.#table.rows.some((row) => isPending(row) && isIsolated(row)),
    };
  }

  async nextDue(
    workerId: WorkerId,
    asksHeld: boolean,
    { ranges, deadRoutes, unknown }: AwaitedRoutes,
  ): Promise<NextDue> {
    const { rows, nowMs, workers } = this.#table;
    const isOurs = (row: MemoryRow): boolean =>
      isDead(row)
        ? isDeadFor(this.#table, row, deadRoutes)
        : ranges.some((range) => isWithin(routeOf(row), range));
    const isDue = rows.some((row) => isPending(row) && isOurs(row));
    const scheduled = rows.filter(isScheduled).map((row) => dueMs(row) - nowMs);
    const times = isDue ? [0, ...scheduled] : scheduled;
    return {
      inMs: times.length === 0 ? undefined : Math.min(...times),
      pending: (await this.routeHeads(unknown, unknownAtOnce)).map(({ route }) => route),
      holding: asksHeld && rows.some((row) => isHeldBy(row, workerId)),
      halted: workers.has(workerId) ? (workers.get(workerId)?.halted ?? false) : undefined,
    };
  }

  async loadPayload(id: string): Promise<string | null> {
    const row = this.#table.row(id);
    return row ? this.#table.payloadOf(row) : null;
  }

  async readOutcome(workerId: WorkerId, { id, reservation }: Claim): Promise<AttemptOutcome> {
    const row = this.#table.row(id);
    const isOurs = row?.['executor'] === workerId && row['reserva'] === String(reservation);
    return (isOurs && attemptOutcomes.get(row[column.status])) || 'lost';
  }

  async stillHeld(workerId: WorkerId, ids: readonly string[]): Promise<readonly StandingClaim[]> {
    return ids.flatMap((id) => {
      const row = this.#table.row(id);
      return row && isHeldBy(row, workerId) ? [readStanding({ ...row, cancelled: isCancelled(row) })] : [];
    });
  }

  async heldBy(workerId: WorkerId, limit: number, lost = false): Promise<readonly HeldTask[]> {
    if (lost && this.#isBack(workerId)) return [];
    return this.#table.rows
      .filter((row) => isHeldBy(row, workerId))
      .slice(0, limit)
      .map((row) => {
        const keyTime = this.#table.keyTimeOf(row);
        return readHeldTask({ ...row, key_time: keyTime, route: routeOf(row) }, workerId, this.#queue);
      });
  }

  async findUnfollowed(ids: readonly string[]): Promise<readonly UnfollowedAttempt[]> {
    return ids.flatMap((id): readonly UnfollowedAttempt[] => {
      const row = this.#table.row(id);
      if (row && lacksNextAttempt(this.#table, row)) return [{ id, kind: 'no-next-attempt' }];
      return row && lacksDeadTask(this.#table, row) ? [{ id, kind: 'no-dead-task' }] : [];
    });
  }

  async insertNext(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      const row = this.#table.row(id);
      const isDue = Date.parse(row?.[column.nextAttemptAt] ?? '') <= this.#table.nowMs;
      if (row && !isDue && lacksNextAttempt(this.#table, row)) this.#addNext(row, row['perdas'] ?? '0');
    }
  }

  async pausedRoutes(): Promise<readonly Route[]> {
    return [...this.#table.paused.keys()];
  }

  async routeHeads(ranges: readonly RouteRange[], limit: number): Promise<readonly RouteHead[]> {
    const heads = new Map<Route, RouteHead>();
    for (const row of this.#table.rows.filter(isPending).sort(comparePickUp)) {
      const route = routeOf(row);
      if (heads.has(route)) continue;
      heads.set(route, { route, priority: Number(row[column.priority] ?? Infinity), dueMs: dueMs(row) });
    }
    const sorted = [...heads.values()].sort((a, b) => (a.route < b.route ? -1 : 1));
    return ranges.flatMap((range) => sorted.filter(({ route }) => isWithin(route, range))).slice(0, limit);
  }

  async waitingRoutes(): Promise<readonly WaitingRoute[]> {
    return waitingRoutes(this.#table);
  }

  /** True of a worker that runs and is not missing. */
  #isBack(workerId: WorkerId): boolean {
    const worker = this.#table.workers.get(workerId);
    return worker !== undefined && worker.stoppedAt === undefined && worker.missedAt === undefined;
  }

  #fail(row: MemoryRow, { id, message, note, error, next, nextLosses }: Failure): FailureOutcome {
    const { nowMs } = this.#table;
    row[column.error] = error;
    this.#end(row);
    const cancelled = readEndedBy(row);
    if (cancelled) return { id, nextAttemptInMs: undefined, deadId: undefined, cancelled };
    const nextMs = next && this.#dueMsOf(row, next);
    Object.assign(row, {
      [column.message]: message.slice(0, messageLength - note.length) + note,
      [column.retried]: String(next !== undefined),
      [column.exhausted]: String(next === undefined),
      [column.nextAttemptAt]: nextMs === undefined ? null : instant(nextMs),
    });
    if (nextMs === undefined) {
      const deadId = isDead(row) ? undefined : startDeadChain(this.#table, row);
      return { id, nextAttemptInMs: undefined, deadId };
    }
    this.#addNext(row, String(nextLosses));
    return { id, nextAttemptInMs: nextMs - nowMs, deadId: undefined };
  }

  #addNext(row: MemoryRow, losses: string): void {
    this.#table.add({
      ...followerOf(row),
      [column.dueAt]: row[column.nextAttemptAt] ?? null,
      [column.attempt]: String(Number(row[column.attempt]) + 1),
      [column.status]: statusColumn.scheduled,
      perdas: losses,
    });
  }

  #end(row: MemoryRow): void {
    row[column.status] = statusColumn.failed;
    row[column.finishedAt] = instant(this.#table.nowMs);
  }

  #dueMsOf(row: MemoryRow, next: RetryTime): number {
    if (next.kind === 'at') return next.date.getTime();
    return (next.kind === 'after-due' ? dueMs(row) : this.#table.nowMs) + next.delayMs;
  }
}

function isWithin(route: Route, { from, below }: RouteRange): boolean {
  return from <= route && route < below;
}
