import type { ClaimedTask, Route, RouteDemand } from '../../attempt.js';

/** Where a claim looks: the attempts of one route that are pending and due. */
export interface Stretch extends RouteDemand {
  /** Undefined for the whole route, from its front. */
  readonly bounds?: StretchBounds;
}

/** Only attempts of these priorities, both included, that were due at that time or later. */
export interface StretchBounds {
  readonly highest: number;
  readonly lowest: number;
  /** As PostgreSQL writes it; `-infinity` for all. */
  readonly since: string;
}

/**
 * How a claim divides its limit: `single` when at most one route is likely to have work, `counted` when several have
 * and the best attempts of all are wanted, `shared` when each route takes up to its own limit, in their order.
 */
export type ClaimShape = 'single' | 'counted' | 'shared';

/** What one statement claims. Either all stretches have bounds or none. */
export interface ClaimRequest {
  readonly shape: ClaimShape;
  readonly stretches: readonly Stretch[];
  /** Limit of all together. */
  readonly total: number;
  /** How many attempts of each stretch `counted` sees before it decides. */
  readonly depth: number;
  /** Where stretches have bounds, attempts of lesser ids are not looked at; undefined for all. */
  readonly leastId?: bigint | undefined;
}

/** An attempt just claimed, and its place in the order of pick-up. */
export interface ClaimedRow extends ClaimedTask {
  /** As PostgreSQL writes it, to the microsecond. */
  readonly due: string;
  /** Null where it was made so by hand. */
  readonly priority: number | null;
}

/** What a statement that claims answers. */
export interface ClaimAnswer {
  /** Ids of the completions that were written; undefined when all were. */
  readonly settledOnly: readonly string[] | undefined;
  readonly claimed: readonly ClaimedRow[];
  /**
   * Routes that gave less than they were seen to have, because another session has locked their best attempts. Always
   * empty unless the shape was `counted`.
   */
  readonly lockedRoutes: readonly Route[];
  /** True when the shape was `single` though several stretches had attempts. */
  readonly contended: boolean;
  /** Set when there was less than could be taken: no attempt due before is left, except locked ones and those unseen yet. */
  readonly exhaustedAt: string | undefined;
  /** Routes that were seen to have more than was taken; undefined unless the shape was `counted`. */
  readonly moreRoutes: readonly Route[] | undefined;
  /** True when `counted` took less than it could, because it had not seen enough of some stretch. */
  readonly isCut: boolean;
  /** Attempts that workers of nsj-queue-lib have locked. */
  readonly refused: readonly string[];
}

/** True when a claim does not start at the front. */
export function isBounded({ stretches }: ClaimRequest): boolean {
  return stretches[0]?.bounds !== undefined;
}
