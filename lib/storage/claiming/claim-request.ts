import type { Route, RouteDemand } from '../attempt.js';
import type { ClaimedRow } from '../task-row.js';

/** Where a claim looks: the attempts of one route that are pending and due. */
export interface Stretch extends RouteDemand {
  /** Undefined for the whole route, from its front. */
  readonly bounds?: StretchBounds | undefined;
}

/** Only attempts of these priorities, both included, that were due at that time or later. */
export interface StretchBounds {
  readonly highest: number;
  readonly lowest: number;
  /** As the database writes times; undefined for all. */
  readonly since: string | undefined;
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

/** Sorts in place, unless they are in order: databases may answer rows of an update as they lie in the table. */
export function inPickUpOrder<Row extends PickUpPlace>(rows: Row[]): Row[] {
  for (let index = 1; index < rows.length; index += 1) {
    const [before, after] = [rows[index - 1], rows[index]];
    if (before && after && comparePickUp(before, after) > 0) return rows.sort(comparePickUp);
  }
  return rows;
}

/** Where an attempt stands in the order of pick-up. */
export type PickUpPlace = Pick<ClaimedRow, 'id' | 'due' | 'priority'>;

/** The text of a time sorts as the time does, within one time zone. */
export function comparePickUp(a: PickUpPlace, b: PickUpPlace): number {
  if (a.priority !== b.priority) return (b.priority ?? Infinity) - (a.priority ?? Infinity);
  if (a.due !== b.due) return a.due < b.due ? -1 : 1;
  return a.id.length - b.id.length || (a.id < b.id ? -1 : 1);
}
