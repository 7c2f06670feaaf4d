import type { ClaimedTask, Completion, RouteDemand, WorkerId } from '../attempt.js';
import type { AttemptStore } from '../attempts.js';
import {
  onlySettled,
  type ClaimDemand,
  type Claims,
  type SettleAndClaimResult,
  type UnreadableAmong,
} from '../claims.js';
import type { RowsApart } from '../rows-apart.js';
import type { UnreadableTask } from '../unreadable-task.js';

/** Locks of tasks outside of the database. */
export interface TaskLocking {
  /** Whether tasks can be locked now. */
  readonly isJoined: boolean;
  /** Returns those that it got. */
  take(ids: readonly string[]): Promise<ReadonlySet<string>>;
}

/** While tasks cannot be locked, or others have locked them. */
const againMs = 250;

/**
 * Claims of attempts that others lock outside of the database before they look at them. What was claimed is locked before it runs.
 * Where somebody else was first, who may have seen it pending, it is given back, and waits for what that one makes of it.
 */
export class LockedClaims implements Claims {
  readonly parallel = 1;
  readonly #claims: Claims;
  readonly #workerId: WorkerId;
  readonly #locks: TaskLocking;
  readonly #attempts: Pick<AttemptStore, 'releaseMany'>;
  readonly #apart: RowsApart | undefined;

  constructor(
    claims: Claims,
    workerId: WorkerId,
    locks: TaskLocking,
    attempts: Pick<AttemptStore, 'releaseMany'>,
    apart: RowsApart | undefined,
  ) {
    this.#claims = claims;
    this.#workerId = workerId;
    this.#locks = locks;
    this.#attempts = attempts;
    this.#apart = apart;
  }

  openAnother(): undefined {
    return undefined;
  }

  async settleAndClaim(
    completions: readonly Completion[],
    demand?: ClaimDemand,
  ): Promise<SettleAndClaimResult> {
    const wanted = this.#locks.isJoined ? demand : undefined;
    const result =
      wanted || completions.length > 0
        ? await this.#claims.settleAndClaim(completions, wanted)
        : onlySettled(undefined);
    const claimed = await this.#lock(result.claimed);
    if (!demand || (wanted && claimed.length === result.claimed.length)) return { ...result, claimed };
    return { ...result, claimed, lookAgainInMs: Math.min(againMs, result.lookAgainInMs ?? Infinity) };
  }

  async claimUnattended(limit: number): Promise<readonly ClaimedTask[]> {
    return this.#locks.isJoined ? this.#lock(await this.#claims.claimUnattended(limit)) : [];
  }

  heard(dueMs: number | 'lately', highestPriority: number): void {
    this.#claims.heard(dueMs, highestPriority);
  }

  invalidate(): void {
    this.#claims.invalidate();
  }

  wouldClaim(routes: readonly RouteDemand[]): Promise<boolean> {
    return this.#claims.wouldClaim(routes);
  }

  endUnreadable(among: UnreadableAmong): Promise<readonly UnreadableTask[]> {
    return this.#claims.endUnreadable(among);
  }

  setApart(among: Exclude<UnreadableAmong, 'every route'>): Promise<boolean> {
    return this.#claims.setApart(among);
  }

  async #lock(claimed: readonly ClaimedTask[]): Promise<readonly ClaimedTask[]> {
    if (claimed.length === 0) return claimed;
    const got = await this.#locks.take(claimed.map(({ id }) => id));
    const refused = claimed.filter(({ id }) => !got.has(id));
    if (refused.length === 0) return claimed;
    await this.#attempts.releaseMany(this.#workerId, refused);
    this.#apart?.leaveOut(refused.map(({ id }) => id));
    // They are pending again, and may be the next after all.
    this.#claims.invalidate();
    return claimed.filter(({ id }) => got.has(id));
  }
}
