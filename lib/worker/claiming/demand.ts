import type { Route, RouteDemand } from '../../storage/attempt.js';
import type { Limit } from '../../subscribers/handler-registry.js';
import type { Capacity } from './capacity.js';
import type { LimitRoom, RouteMap } from './route-map.js';
import type { ServedRoutes } from './served-routes.js';

/** How many attempts of a route a worker can take now, and whether it is known to have some. */
export interface KnownDemand extends RouteDemand {
  readonly hasWork?: boolean;
}

/** What a worker can take now. */
export interface Demand {
  /** Free slots: the limit of all routes together. */
  readonly total: number;
  /** Routes that each claim asks for, whether they have work or not. */
  readonly always: readonly RouteDemand[];
  /** Routes that were chosen because they have work. */
  readonly chosen: readonly KnownDemand[];
  /** True when others that have work were left out, because the last slot of a limit goes to its routes in turn. */
  readonly isLeftOut: boolean;
}

export const nothing: Demand = { total: 0, always: [], chosen: [], isLeftOut: false };

/** With more routes of its own a worker asks for those only that have work. */
const mostAlways = 100;

export interface DemandsParts {
  readonly served: ServedRoutes;
  readonly capacity: Capacity;
  readonly map: RouteMap;
  readonly order: 'age' | 'fair';
}

/**
 * Says what may be claimed: no more than there are free slots, and of no limit more than is left of it. A handler at its limit is left
 * out, so it costs nothing. Routes that share a limit are only asked for when they have work: those without would take from it.
 */
export class Demands {
  readonly #parts: DemandsParts;
  #turn = false;

  constructor(parts: DemandsParts) {
    this.#parts = parts;
  }

  /** True when a route is asked for by every claim; what others have must be found out. */
  isAlwaysAsked(route: Route): boolean {
    const { served } = this.#parts;
    const { own } = served;
    return own.length <= mostAlways && own.includes(route) && !served.sharesLimit(route);
  }

  /**
   * What may be claimed now.
   *
   * @param held rows that are held beside those that run
   * @param most attempts that one statement claims at most
   * @param except plain routes to leave out
   */
  read(held: number, most: number, except: ReadonlySet<Route>): Demand {
    const { served, capacity, map, order } = this.#parts;
    const total = capacity.free(held);
    if (total <= 0) return nothing;
    const limit = Math.min(total, most);
    const left = new Map<Limit, number>();
    const room: LimitRoom = {
      of: (bound) => (bound && left.get(bound)) ?? capacity.freeOf(bound),
      isFull: (bound) => capacity.freeOf(bound) <= 0,
    };
    const { own } = served;
    const always: RouteDemand[] = [];
    let isLeftOut = false;
    for (const route of own.length <= mostAlways ? own : []) {
      if (except.has(route) || served.sharesLimit(route)) continue;
      const bound = served.limitOf(route);
      const free = Math.min(limit, room.of(bound));
      if (free <= 0) continue;
      const kept = this.#keptForOthers(bound, free);
      if (bound?.concurrency !== undefined) left.set(bound, kept);
      isLeftOut ||= kept === 0 && this.#hasOthers(bound);
      if (free > kept) always.push({ route, limit: free - kept, only: served.only(route) });
    }
    const chosen = map.heads.size > 0 ? map.choose(limit, order === 'fair', room, except) : [];
    return { total, always, chosen, isLeftOut };
  }

  #hasOthers(bound: Limit | undefined): boolean {
    return bound?.concurrency !== undefined && this.#parts.map.hasWorkFor(bound);
  }

  /** Half of what is left of a limit is for the other routes that have work; a single slot in turn. */
  #keptForOthers(bound: Limit | undefined, free: number): number {
    if (!this.#hasOthers(bound)) return 0;
    if (free > 1) return Math.floor(free / 2);
    this.#turn = !this.#turn;
    return this.#turn ? 1 : 0;
  }
}
