import { WalkPace } from '../../timing/walk-pace.js';
import type { ClaimedTask, Route, RouteDemand } from '../../storage/attempt.js';
import type { ClaimRequest, SettleAndClaimResult, Stretch } from '../../storage/claims.js';

/** What was rung for: attempts due since then (ms), of that priority or a lower one. */
interface RungFor {
  readonly dueMs: number;
  readonly highest: number;
}

const nothing: RungFor = { dueMs: Infinity, highest: -Infinity };
const anything: RungFor = { dueMs: -Infinity, highest: Infinity };

/** Attempts that were due at or after this time and have not been claimed yet; see {@link ClaimCursor}. */
interface Position {
  /** As the database writes it, to the microsecond. */
  readonly since: string;
  readonly sinceMs: number;
}

/** A task that nobody rings for should be found so soon. */
const longestPauseMs = 5_000;
/** Priorities remembered per route; one that is forgotten costs time, never a task. */
const mostPriorities = 4;
/** Routes remembered beside those that are asked for. */
const mostRoutes = 1_000;
const defaultPriority = 50;

const [highestOfAll, lowestOfAll] = [2_147_483_647, -2_147_483_648];
const fromTheStart = '-infinity';

/**
 * Where the next claim of each route and priority starts: where the last one ended. What was claimed leaves dead
 * entries in the index until a vacuum, and none can while some session holds an old snapshot: a claim that walked
 * over them all would slow down with every task that was ever done.
 *
 * A bounded claim still sees every priority, whether known or not: between the known ones lie stretches without a
 * start. It cannot see an attempt of a known priority that was due before the position and appeared after: a commit
 * that took long, one given back, one set back by hand. Rings move the position back to what they name, and a sweep
 * from the front finds what nobody rang for. A sweep is made whenever those before took no more than 3% of the time;
 * so an unburdened queue is claimed from the front nearly always, and a burdened one every few seconds.
 */
export class ClaimCursor {
  readonly #sweeps: WalkPace;
  readonly #positions = new Map<Route, Map<number, Position>>();
  /** Claims under way, each with what was rung for meanwhile: its snapshot may be older than that. */
  readonly #underWay = new Map<ClaimRequest, RungFor>();
  /** What a bounded claim takes: smoothed ms. */
  #boundedMs: number | undefined;
  /** What the last sweep took longer than other claims. */
  #lastExtraMs = Infinity;
  /** Sweeps in a row that made the next one wait longer than they should. */
  #rareSweeps = 0;

  /** @param now a clock in ms that never goes back */
  constructor(now?: () => number) {
    this.#sweeps = new WalkPace(0, now);
  }

  /** Ms until the next claim that starts at the front; not above 0 when it may be the next one. */
  get sweepInMs(): number {
    return this.#sweeps.dueInMs;
  }

  /** Ms from the last sweep to the one that is due next: how late an attempt is found that nobody rings for. */
  get sweepPauseMs(): number {
    return this.#sweeps.pauseMs;
  }

  /** True from the second sweep in a row on that took so long that the next is far off; one may be slow by chance. */
  get sweepsRarely(): boolean {
    return this.#rareSweeps > 1;
  }

  /** Turns routes into stretches: from where the last claims ended, or whole when a sweep is due. */
  stretches(routes: readonly RouteDemand[]): readonly Stretch[] {
    if (this.#positions.size === 0 || this.#sweeps.due) return routes;
    if (this.#positions.size > mostRoutes + routes.length) this.#forgetOthers(routes);
    return routes.flatMap((demand) => this.#stretchesOf(demand));
  }

  /** A claim is sent: what is rung for until its answer comes may be behind what it answers. */
  sent(request: ClaimRequest): void {
    this.#underWay.set(request, nothing);
  }

  /** A claim was not answered. */
  failed(request: ClaimRequest): void {
    this.#underWay.delete(request);
    this.reset();
  }

  /**
   * Learns from a claim.
   *
   * @param tookMs from sending it to its answer
   */
  learn(request: ClaimRequest, result: SettleAndClaimResult, tookMs: number): void {
    const { stretches, total } = request;
    const { claimed, lockedRoutes, exhaustedAt } = result;
    this.#timed(isBounded(request), tookMs);
    const rungFor = this.#underWay.get(request) ?? nothing;
    this.#underWay.delete(request);
    if (rungFor.dueMs === anything.dueMs) return;
    const locked = new Set(lockedRoutes);
    for (const [route, { limit, taken, ends }] of summed(stretches, claimed)) {
      if (locked.has(route)) continue;
      for (const [priority, due] of ends) this.#move(route, priority, due);
      if (exhaustedAt !== undefined && taken < Math.min(limit, total)) this.#exhaust(route, exhaustedAt);
    }
    this.#moveBack(rungFor);
  }

  /** Somebody rang for attempts due at that time (ms) or later, of that priority or a lower one. */
  moveBack(dueMs: number, highest: number): void {
    this.#moveBack({ dueMs, highest });
    for (const [request, rungFor] of this.#underWay) {
      this.#underWay.set(request, {
        dueMs: Math.min(rungFor.dueMs, dueMs),
        highest: Math.max(rungFor.highest, highest),
      });
    }
  }

  #moveBack({ dueMs, highest }: RungFor): void {
    for (const positions of this.#positions.values()) {
      for (const [priority, { sinceMs }] of positions) {
        if (priority <= highest && sinceMs > dueMs) positions.set(priority, positionAt(dueMs));
      }
    }
  }

  /** Forgets all positions, because rings may have been lost: the next claim starts at the front. */
  reset(): void {
    this.#positions.clear();
    for (const request of this.#underWay.keys()) this.#underWay.set(request, anything);
  }

  #stretchesOf({ route, limit }: RouteDemand): readonly Stretch[] {
    const known = [...(this.#positions.get(route) ?? [])].sort(([a], [b]) => b - a);
    if (known.length === 0) return [stretch(route, limit, highestOfAll, lowestOfAll)];
    const result: Stretch[] = [];
    let highest = highestOfAll;
    for (const [priority, { since }] of known) {
      if (priority < highest) result.push(stretch(route, limit, highest, priority + 1));
      result.push(stretch(route, limit, priority, priority, since));
      highest = priority - 1;
    }
    if (highest >= lowestOfAll) result.push(stretch(route, limit, highest, lowestOfAll));
    return result;
  }

  /** Routes come and go; those that are not asked for any more are forgotten. */
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

  /** Nothing is left of that route: all its priorities go on from there. */
  #exhaust(route: Route, since: string): void {
    const known = [...(this.#positions.get(route)?.keys() ?? [defaultPriority])];
    for (const priority of known) this.#move(route, priority, since);
  }

  /** A sweep costs what it takes longer than other claims; of two in a row, the less. */
  #timed(bounded: boolean, tookMs: number): void {
    if (bounded) {
      this.#boundedMs = this.#boundedMs === undefined ? tookMs : this.#boundedMs * 0.8 + tookMs * 0.2;
      return;
    }
    const extraMs = Math.max(0, tookMs - (this.#boundedMs ?? 0));
    // A stall of the network is not what sweeps cost.
    this.#sweeps.ended(Math.min(extraMs, this.#lastExtraMs));
    this.#lastExtraMs = extraMs;
    this.#rareSweeps = this.sweepPauseMs > longestPauseMs ? this.#rareSweeps + 1 : 0;
  }
}

/** True when a claim did not start at the front. */
export function isBounded({ stretches }: ClaimRequest): boolean {
  return stretches[0]?.bounds !== undefined;
}

/** What a route could give and gave. */
interface Yield {
  readonly limit: number;
  taken: number;
  /** When the last attempt of each priority was due. */
  readonly ends: Map<number, string>;
}

function summed(stretches: readonly Stretch[], claimed: readonly ClaimedTask[]): ReadonlyMap<Route, Yield> {
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

function stretch(
  route: Route,
  limit: number,
  highest: number,
  lowest: number,
  since = fromTheStart,
): Stretch {
  return { route, limit, bounds: { highest, lowest, since } };
}

/** What was due before 1970, or at `-infinity`, is rung for as if due then. */
function positionAt(ms: number): Position {
  return ms <= 0
    ? { since: fromTheStart, sinceMs: -Infinity }
    : { since: new Date(ms).toISOString(), sinceMs: ms };
}
