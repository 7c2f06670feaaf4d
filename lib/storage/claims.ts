import type { ClaimedTask, Completion, Route, RouteDemand, WorkerId } from './attempt.js';
import type { UnreadableAmong, UnreadableTask } from './unreadable-task.js';

/** Where a claim looks: the attempts of one route that are pending and due. */
export interface Stretch extends RouteDemand {
  /** Undefined for the whole route, from its front. */
  readonly bounds?: StretchBounds;
}

/** Only attempts of these priorities, both included, that were due at that time or later. */
export interface StretchBounds {
  readonly highest: number;
  readonly lowest: number;
  /** As the database writes it; `-infinity` for all. */
  readonly since: string;
}

/**
 * How a claim divides its limit: `single` when at most one route is likely to have work, `counted` when several have
 * and the best attempts of all are wanted, `shared` when each route takes up to its own limit, in their order.
 */
export type ClaimShape = 'single' | 'counted' | 'shared';

/** Statements of different lanes are under way at the same time. */
export type Lane = 'first' | 'second';

/** What to claim. Either all stretches have bounds or none. */
export interface ClaimRequest {
  readonly shape: ClaimShape;
  readonly stretches: readonly Stretch[];
  /** Limit of all together. */
  readonly total: number;
  /** Of a route, true for dead attempts only, false for others only. Default: undefined, which is both. */
  readonly dead?: (route: Route) => boolean | undefined;
}

export interface SettleAndClaimResult {
  /**
   * Ids of the completions that were written; undefined when all were. The others are lost, or were locked by
   * somebody else: {@link Storage.readHeld} tells.
   */
  readonly settledOnly: readonly string[] | undefined;
  readonly claimed: readonly ClaimedTask[];
  /**
   * Routes that gave less than they should, because somebody has locked their best attempts: what was not
   * claimed of them may be there for other routes. Always empty unless the shape was `counted`.
   */
  readonly lockedRoutes: readonly Route[];
  /** True when the shape was `single` though several stretches had attempts. */
  readonly contended: boolean;
  /** Set when there was less than could be taken: no attempt due before is left, but what is locked or unseen yet. */
  readonly exhaustedAt: string | undefined;
  /** True when workers of nsj-queue-lib have locked some of the best attempts. */
  readonly refused: boolean;
}

/** One worker's claims. */
export interface Claims {
  /** Completes attempts and claims new ones, best first, in one commit; calls on one lane run in order. */
  settleAndClaim(
    workerId: WorkerId,
    completions: readonly Completion[],
    request?: ClaimRequest,
    lane?: Lane,
  ): Promise<SettleAndClaimResult>;
  /**
   * Claims dead attempts, the oldest first, that no running worker has a handler for, wherever it is: at most `limit`.
   */
  claimUnattended(workerId: WorkerId, limit: number): Promise<readonly ClaimedTask[]>;
  /** True when an attempt waits that such a claim would take, unless somebody has it locked. */
  wouldClaim(request: ClaimRequest): Promise<boolean>;
  /** Fails and buries pending attempts that cannot be sent to any client. */
  endUnreadable(workerId: WorkerId, among: UnreadableAmong): Promise<readonly UnreadableTask[]>;
  /** Undefined when that lane can send at once; otherwise opens what it sends through, and resolves when that is open. */
  laneOpening(lane: Lane): Promise<void> | undefined;
}
