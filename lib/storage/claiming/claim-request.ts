import type { Route, RouteDemand } from '../attempt.js';
import type { ClaimedRow } from '../task-row.js';
import { WalkPace } from '../../timing/walk-pace.js';
import { defaultPriority } from '../inserts.js';

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

/** What rings were about: attempts due since then (ms), of that priority or a lower one, and others that are new. */
interface Heard {
  readonly dueMs: number;
  readonly highest: number;
  readonly lately: boolean;
}

const nothing: Heard = { dueMs: Infinity, highest: -Infinity, lately: false };
const anything: Heard = { dueMs: -Infinity, highest: Infinity, lately: true };

/** Attempts that were due at or after this time and have not been claimed yet; see {@link ClaimCursor}. */
interface Position {
  /** As the database writes it, to the microsecond; undefined for the beginning of all times. */
  readonly since: string | undefined;
  readonly sinceMs: number;
  /** True once it is as far back as a ring for new attempts moves it. */
  readonly isBack?: boolean;
}

/** How long most transactions take from their insert to their commit. */
const latelyMs = 1_000;
/** A task without a ring should be found within that time. */
const longestPauseMs = 5_000;
/** Priorities remembered per route; a forgotten one costs time, never a task. */
const mostPriorities = 4;
/** Routes remembered beside those that are asked for. */
const mostRoutes = 1_000;

const [highestOfAll, lowestOfAll] = [2_147_483_647, -2_147_483_648];

/**
 * Where the next claim of each route and priority starts: where the last one ended. A claimed row leaves a dead entry in
 * the index until a vacuum, which removes none while some session holds an old snapshot: a claim that walked over all of
 * them would slow down with every task that was ever done.
 *
 * A bounded claim still sees every priority, known or not: between the known ones lie stretches without a start. It
 * misses an attempt of a known priority that was due before the position and appeared later: a commit that took long, an
 * attempt given back, a row set back by hand. Rings move the position back to what they name, by a second where they name
 * no time, and a sweep from the front finds what no ring announced. A sweep is made whenever the sweeps before it took at most 3% of the time; so a queue with
 * few dead entries is nearly always claimed from the front, and one with many every few seconds.
 */
export class ClaimCursor {
  /** When claims start at the front, and how late an attempt without a ring is found. */
  readonly sweeps: WalkPace;
  readonly #positions = new Map<Route, Map<number, Position>>();
  /** Claims under way, each with what was heard meanwhile: its snapshot may be older than that. */
  readonly #underWay = new Map<ClaimRequest, Heard>();
  /** How long a bounded claim takes, in smoothed ms. */
  #boundedMs: number | undefined;
  /** How much longer the last sweep took than other claims. */
  #lastExtraMs = Infinity;
  /** Sweeps in a row that put the next one off for too long. */
  #rareSweeps = 0;

  /**
   * @param leastPauseMs from one sweep to the next, however cheap they are
   * @param now a clock in ms that never goes back
   */
  constructor(leastPauseMs = 0, now?: () => number) {
    this.sweeps = new WalkPace(leastPauseMs, now);
  }

  /** True from the second slow sweep in a row, after which the next one is far off; one may be slow by chance. */
  get sweepsRarely(): boolean {
    return this.#rareSweeps > 1;
  }

  /** Turns routes into stretches: from where the last claims ended, or whole when a sweep is due. */
  stretches(routes: readonly RouteDemand[]): readonly Stretch[] {
    if (this.#positions.size === 0 || this.sweeps.due) return routes;
    if (this.#positions.size > mostRoutes + routes.length) this.#forgetOthers(routes);
    return routes.flatMap((demand) => this.#stretchesOf(demand));
  }

  /** A claim is sent: what is heard until its answer comes may lie behind what it answers. */
  sent(request: ClaimRequest): void {
    this.#underWay.set(request, nothing);
  }

  /** A claim failed. */
  failed(request: ClaimRequest): void {
    this.#underWay.delete(request);
    this.reset();
  }

  /**
   * Learns from a claim.
   *
   * @param tookMs from sending it to its answer
   */
  learn(request: ClaimRequest, answer: ClaimAnswer, tookMs: number): void {
    const { stretches, total } = request;
    const { claimed, lockedRoutes, exhaustedAt } = answer;
    this.#timed(isBounded(request), tookMs);
    const heard = this.#underWay.get(request) ?? nothing;
    this.#underWay.delete(request);
    if (heard.dueMs === anything.dueMs) return;
    const locked = new Set(lockedRoutes);
    for (const [route, { limit, taken, ends }] of summed(stretches, claimed)) {
      if (locked.has(route)) continue;
      for (const [priority, due] of ends) this.#move(route, priority, due);
      if (exhaustedAt === undefined || taken >= Math.min(limit, total)) continue;
      // Nothing is left of that route: all its priorities go on from there.
      const known = [...(this.#positions.get(route)?.keys() ?? [defaultPriority])];
      for (const priority of known) this.#move(route, priority, exhaustedAt);
    }
    this.#moveBack(heard);
  }

  /**
   * A ring was about attempts due at that time (ms) or later, of that priority or a lower one.
   *
   * @param dueMs `'lately'`: about attempts that were inserted a moment ago
   */
  moveBack(dueMs: number | 'lately', highest: number): void {
    const rung: Heard = dueMs === 'lately' ? { ...nothing, lately: true } : { dueMs, highest, lately: false };
    this.#moveBack(rung);
    for (const [request, heard] of this.#underWay) {
      this.#underWay.set(request, {
        dueMs: Math.min(heard.dueMs, rung.dueMs),
        highest: Math.max(heard.highest, rung.highest),
        lately: heard.lately || rung.lately,
      });
    }
  }

  #moveBack({ dueMs, highest, lately }: Heard): void {
    for (const positions of this.#positions.values()) {
      for (const [priority, { sinceMs, isBack }] of positions) {
        const backMs = lately && !isBack ? sinceMs - latelyMs : sinceMs;
        const ms = priority <= highest ? Math.min(backMs, dueMs) : backMs;
        if (ms < sinceMs) positions.set(priority, { ...positionAt(ms), isBack: lately || isBack === true });
      }
    }
  }

  /** Bounded claims look into more or fewer partitions from now on: how long they take is measured again. */
  boundsMoved(): void {
    this.#boundedMs = undefined;
    this.#lastExtraMs = Infinity;
  }

  /** Forgets all positions because rings may have been lost: the next claim starts at the front. */
  reset(): void {
    this.#positions.clear();
    for (const request of this.#underWay.keys()) this.#underWay.set(request, anything);
  }

  #stretchesOf(demand: RouteDemand): readonly Stretch[] {
    const known = [...(this.#positions.get(demand.route) ?? [])].sort(([a], [b]) => b - a);
    if (known.length === 0) return [stretch(demand, highestOfAll, lowestOfAll)];
    const result: Stretch[] = [];
    let highest = highestOfAll;
    for (const [priority, { since }] of known) {
      if (priority < highest) result.push(stretch(demand, highest, priority + 1));
      result.push(stretch(demand, priority, priority, since));
      highest = priority - 1;
    }
    if (highest >= lowestOfAll) result.push(stretch(demand, highest, lowestOfAll));
    return result;
  }

  /** Routes come and go; those that are no longer asked for are forgotten. */
  #forgetOthers(routes: readonly RouteDemand[]): void {
    const asked = new Set(routes.map(({ route }) => route));
    for (const route of this.#positions.keys()) if (!asked.has(route)) this.#positions.delete(route);
  }

  #move(route: Route, priority: number, since: string): void {
    let positions = this.#positions.get(route);
    if (!positions) this.#positions.set(route, (positions = new Map()));
    // Deleted first: the one moved last is forgotten last.
    positions.delete(priority);
    positions.set(priority, { since, sinceMs: new Date(since).getTime() });
    const [oldest] = positions.keys();
    if (positions.size > mostPriorities && oldest !== undefined) positions.delete(oldest);
  }

  /** A sweep costs what it takes longer than other claims; of two in a row the shorter one counts. */
  #timed(bounded: boolean, tookMs: number): void {
    if (bounded) {
      this.#boundedMs = this.#boundedMs === undefined ? tookMs : this.#boundedMs * 0.8 + tookMs * 0.2;
      return;
    }
    const extraMs = Math.max(0, tookMs - (this.#boundedMs ?? 0));
    // A stall of the network is not what sweeps cost.
    this.sweeps.ended(Math.min(extraMs, this.#lastExtraMs));
    this.#lastExtraMs = extraMs;
    this.#rareSweeps = this.sweeps.pauseMs > longestPauseMs ? this.#rareSweeps + 1 : 0;
  }
}

/** What a route could give and gave. */
interface Yield {
  readonly limit: number;
  taken: number;
  /** When the last attempt of each priority was due. */
  readonly ends: Map<number, string>;
}

function summed(stretches: readonly Stretch[], claimed: readonly ClaimedRow[]): ReadonlyMap<Route, Yield> {
  const routes = new Map<Route, Yield>();
  for (const { route, limit } of stretches) routes.set(route, { limit, taken: 0, ends: new Map() });
  // In the order of pick-up: the last one of a route and priority counts.
  for (const { route, priority, due } of claimed) {
    const one = routes.get(route);
    if (!one) continue;
    one.taken += 1;
    if (priority !== null) one.ends.set(priority, due);
  }
  return routes;
}

function stretch(demand: RouteDemand, highest: number, lowest: number, since?: string): Stretch {
  return { ...demand, bounds: { highest, lowest, since } };
}

/** Rings name no time before 1970, so one for that time means all before it, `-infinity` included. */
function positionAt(ms: number): Position {
  return ms <= 0
    ? { since: undefined, sinceMs: -Infinity }
    : { since: new Date(ms).toISOString(), sinceMs: ms };
}
