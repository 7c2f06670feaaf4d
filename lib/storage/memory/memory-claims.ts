import type { ClaimedTask, Completion, RouteDemand, WorkerId } from '../attempt.js';
import type { ClaimDemand, Claims, SettleAndClaimResult } from '../claims.js';
import { readClaimedTask, type QueueIdentity } from '../task-row.js';
import type { UnreadableTask } from '../unreadable-task.js';
import {
  compareAge,
  comparePickUp,
  dueMs,
  isDead,
  isPending,
  routeOf,
  type MemoryRow,
} from './memory-row.js';
import type { MemoryTable } from './memory-table.js';
import { isDeadFor } from './memory-waiting.js';

/** {@link Claims} in memory: every claim sees the whole table, so nothing is missed and nothing is locked. */
export class MemoryClaims implements Claims {
  readonly parallel = 1;
  readonly #table: MemoryTable;
  readonly #queue: QueueIdentity;
  readonly #workerId: WorkerId;

  constructor(table: MemoryTable, queue: QueueIdentity, workerId: WorkerId) {
    this.#table = table;
    this.#queue = queue;
    this.#workerId = workerId;
  }

  openAnother(): undefined {
    return undefined;
  }

  async settleAndClaim(
    completions: readonly Completion[],
    demand?: ClaimDemand,
  ): Promise<SettleAndClaimResult> {
    const settled = completions.filter((completion) => this.#complete(completion)).map(({ id }) => id);
    const best = demand ? this.#best(demand).sort(comparePickUp) : [];
    return {
      settledOnly: settled.length < completions.length ? settled : undefined,
      claimed: best.map((row) => this.#claim(row)),
      blockedRoutes: [],
      claimAgain: false,
      isCut: false,
      moreRoutes: undefined,
      lookAgainInMs: undefined,
    };
  }

  heard(): void {}

  invalidate(): void {}

  async claimUnattended(limit: number): Promise<readonly ClaimedTask[]> {
    return this.#due()
      .filter((row) => isDead(row) && isDeadFor(this.#table, row, []))
      .sort(compareAge)
      .slice(0, limit)
      .map((row) => this.#claim(row));
  }

  async wouldClaim(routes: readonly RouteDemand[]): Promise<boolean> {
    return this.#due().some((row) => routes.some((demand) => isFor(row, demand)));
  }

  /** Memory holds no bytes that could not be read. */
  async endUnreadable(): Promise<readonly UnreadableTask[]> {
    return [];
  }

  /** Nothing refuses what memory is told. */
  async setApart(): Promise<boolean> {
    return false;
  }

  #complete(completion: Completion): boolean {
    const row = this.#table.held(this.#workerId, completion);
    if (row) this.#table.complete(row, completion.message, completion.result);
    return row !== undefined;
  }

  #best({ routes, total, order }: ClaimDemand): MemoryRow[] {
    const due = this.#due().sort(comparePickUp);
    const candidates = routes.flatMap((demand) =>
      due.filter((row) => isFor(row, demand)).slice(0, demand.limit),
    );
    const ordered = order === 'age' ? candidates.sort(comparePickUp) : candidates;
    return [...new Set(ordered)].slice(0, total);
  }

  #due(): MemoryRow[] {
    const { rows, nowMs } = this.#table;
    return rows.filter((row) => isPending(row) && dueMs(row) <= nowMs);
  }

  #claim(row: MemoryRow): ClaimedTask {
    this.#table.hold(row, this.#workerId);
    const [payload, keyTime] = [this.#table.payloadOf(row), this.#table.keyTimeOf(row)];
    return readClaimedTask({ ...row, key_time: keyTime, payload_inline: payload }, this.#queue);
  }
}

function isFor(row: MemoryRow, { route, only }: RouteDemand): boolean {
  return routeOf(row) === route && (only === undefined || (only === 'dead') === isDead(row));
}
