import type { ClaimedTask, Completion, Route, RouteDemand } from './attempt.js';
import type { UnreadableTask } from './unreadable-task.js';

/**
 * Which attempts are taken when there are more than can be: of `age` the best of all routes, by priority and due time; of
 * `listed` the best of each route, in the order of the list.
 */
export type ClaimOrder = 'age' | 'listed';

/** What a worker can take now. */
export interface ClaimDemand {
  readonly routes: readonly RouteDemand[];
  /** Limit of all routes together. */
  readonly total: number;
  readonly order: ClaimOrder;
}

/** Where attempts are looked for that stop a claim: among what it would take, dead ones without a handler, or the first of each route. */
export type UnreadableAmong = ClaimDemand | 'unattended' | 'every route';

/** What became of completions, and what was claimed. */
export interface SettleAndClaimResult {
  /**
   * Ids of the completions that were written; undefined when all were. The others are lost, or another session has locked
   * them: `standing` tells.
   */
  readonly settledOnly: readonly string[] | undefined;
  /** In the order of pick-up. */
  readonly claimed: readonly ClaimedTask[];
  /** Routes that gave less than they had, because another session has locked their best attempts. */
  readonly blockedRoutes: readonly Route[];
  /** True when the next claim may find at once what this one could not take. */
  readonly claimAgain: boolean;
  /** True when some of the routes may have more, though this one took less than it could have. */
  readonly isCut: boolean;
  /** The routes that had more than was taken, if that is known. */
  readonly moreRoutes: readonly Route[] | undefined;
  /** Ms until a claim may find what this one could not take or see, and no ring announces; undefined when there is none. */
  readonly lookAgainInMs: number | undefined;
}

/** What one worker's claims are made for. */
export interface ClaimsOptions {
  /** Attempts that the worker runs at once. */
  readonly concurrency: number;
  /** Told what people should know of the database. */
  readonly warn: (message: string) => void;
}

/** One worker's claims. */
export interface Claims {
  /** Calls of {@link settleAndClaim} that are worth keeping under way at once, each for its part of the slots. */
  readonly parallel: number;
  /**
   * Undefined when another call can be sent at once beside those under way; otherwise opens what it needs, and resolves
   * when that is open.
   */
  openAnother(): Promise<void> | undefined;
  /** Completes attempts and claims new ones, in one commit; without a demand it claims none. */
  settleAndClaim(completions: readonly Completion[], demand?: ClaimDemand): Promise<SettleAndClaimResult>;
  /**
   * The worker heard of attempts that were due at that time (ms since 1970) or later, of that priority or a lower one.
   *
   * @param dueMs `'lately'`: of attempts that were inserted a moment ago
   */
  heard(dueMs: number | 'lately', highestPriority: number): void;
  /** The worker may have missed something: the next claim finds whatever is due. */
  invalidate(): void;
  /** Claims dead attempts, the oldest first, that no running worker has a handler for: at most `limit`. */
  claimUnattended(limit: number): Promise<readonly ClaimedTask[]>;
  /** True when an attempt of some route is due, even if another session has locked it. */
  wouldClaim(routes: readonly RouteDemand[]): Promise<boolean>;
  /** Fails and buries pending attempts whose bytes cannot be sent to any client. */
  endUnreadable(among: UnreadableAmong): Promise<readonly UnreadableTask[]>;
  /**
   * Leaves attempts out of the next claims whose rows the database does not let change, and says so once of each; false when
   * there are none among those.
   */
  setApart(among: Exclude<UnreadableAmong, 'every route'>): Promise<boolean>;
}

/** Of a call that only completes. */
export function onlySettled(settledOnly: readonly string[] | undefined): SettleAndClaimResult {
  return {
    settledOnly,
    claimed: [],
    blockedRoutes: [],
    claimAgain: false,
    isCut: false,
    moreRoutes: undefined,
    lookAgainInMs: undefined,
  };
}
