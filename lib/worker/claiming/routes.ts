import type { PoolKind } from '../../options/isolation-options.js';
import type { WorkerOptions } from '../../options/worker-options.js';
import type { ClaimedTask, Route, RouteDemand } from '../../storage/attempt.js';
import { keyedRange, plainRoute, publicationRoute } from '../../storage/route.js';
import type { RouteRange } from '../../storage/waiting-route.js';
import type { HandlerRegistry, HandlerRules, Limit } from '../../subscribers/handler-registry.js';
import type { LimitRoom, RouteMap } from './route-map.js';

/** What bounds isolated handlers: those of a kind share one limit, but for detached ones. */
export type IsolatedLimits = Readonly<Record<PoolKind, Limit>> & {
  readonly detached: { limitOf(rules: HandlerRules): Limit };
};

/** A route as this worker serves it. */
interface ServedRoute {
  readonly route: Route;
  /** False where nothing serves it. */
  readonly isHandled: boolean;
  /**
   * Which attempts of it this worker takes. Dead ones without a handler here are left to workers that have one; `RouteScan` claims
   * those that no worker has one for.
   */
  readonly only: RouteDemand['only'];
  /** The limit that holds for it; undefined where no handler serves it. */
  readonly limit: Limit | undefined;
  /** True when the attempts of other routes count against its limit as well. */
  readonly sharesLimit: boolean;
}

/** Which routes a worker serves, and what of each. All routes here are plain: without keys, not isolated. */
export class ServedRoutes {
  readonly #registry: HandlerRegistry;
  readonly #isolated: IsolatedLimits | undefined;
  /** A worker without code of its own (it only delivers) leaves the tasks of others alone. */
  readonly #failsUnknown: boolean;
  readonly #own: readonly ServedRoute[];
  readonly #ownByRoute: ReadonlyMap<Route, ServedRoute>;

  /**
   * @param registry with all handlers that it will have
   * @param isolated what bounds isolated handlers. Default: they run here as all others
   */
  constructor(
    registry: HandlerRegistry,
    options: Pick<WorkerOptions, 'unknownTasks'>,
    isolated?: IsolatedLimits,
  ) {
    this.#registry = registry;
    this.#isolated = isolated;
    this.#failsUnknown = options.unknownTasks === 'fail' && !registry.isEmpty;
    this.#own = [publicationRoute, ...registry.all].map((route) => this.#read(route));
    this.#ownByRoute = new Map(this.#own.map((one) => [one.route, one]));
  }

  /** Routes with a handler of their own, and that of publications; without those that are left to another worker. */
  get own(): readonly ServedRoute[] {
    const { left } = this.#registry;
    return left ? this.#own.filter(({ route }) => !left.includes(route)) : this.#own;
  }

  of(route: Route): ServedRoute {
    return this.#ownByRoute.get(route) ?? this.#read(route);
  }

  /** True when the tasks of routes that are not known yet have their place in the order of pick-up. */
  get takesAny(): boolean {
    return this.#registry.takesAny.length > 0;
  }

  /** Where routes of this worker may lie: those of its own with their keys, and all of which it has to find out. */
  get ranges(): readonly RouteRange[] {
    return [...this.own.map(({ route }) => keyedRange(route)), ...this.unknownRanges];
  }

  /** Where routes may lie that this worker serves without a handler of their own. */
  get unknownRanges(): readonly RouteRange[] {
    return this.#failsUnknown ? everyRoute : this.#registry.takesAny;
  }

  /** Routes whose dead attempts it takes. */
  get dead(): readonly Route[] {
    return this.#registry.announcedDead;
  }

  /** Finds who serves newly seen routes. */
  async learn(pending: readonly Route[]): Promise<void> {
    await this.#registry.learn(pending);
  }

  /** True when some attempts of the route are this worker's to claim. */
  has(route: Route): boolean {
    return !this.#registry.left?.includes(route) && (this.#failsUnknown || this.of(route).isHandled);
  }

  /** True when no attempt of the route is, however much is learned of it. */
  isForeign(route: Route): boolean {
    return !this.has(route) && !this.unknownRanges.some(({ from, below }) => from <= route && route < below);
  }

  /** True when live attempts of the route are. */
  hasLive(route: Route): boolean {
    return this.has(route) && this.of(route).only !== 'dead';
  }

  #read(route: Route): ServedRoute {
    const { live, dead } = this.#registry.of(route);
    // The live one's rules hold for the route, and the dead one's where there is no other.
    const rules = (live ?? dead)?.rules;
    const isolate = this.#isolated && rules?.isolate;
    const isDetached = isolate === 'detached';
    const shared = isDetached ? rules?.lane : (rules?.lane ?? (isolate && this.#isolated?.[isolate]));
    return {
      route,
      isHandled: rules !== undefined || route === publicationRoute,
      only: !dead ? 'live' : live || this.#failsUnknown ? undefined : 'dead',
      limit: isDetached && rules ? this.#isolated?.detached.limitOf(rules) : (shared ?? rules),
      sharesLimit: shared !== undefined,
    };
  }
}

/** All but the isolated ones. */
const everyRoute: readonly RouteRange[] = [{ from: 'p', below: 'u' }];

/** Counts running attempts: no more than there are slots, and of no handler more than its own limit, or the one that it shares. */
export class Capacity {
  readonly #served: Pick<ServedRoutes, 'of'>;
  readonly #options: Pick<WorkerOptions, 'concurrency'>;
  readonly #running = new Map<Limit, number>();
  #taken = 0;
  /** True while nothing is to be claimed. */
  isPaused = false;

  constructor(served: Pick<ServedRoutes, 'of'>, options: Pick<WorkerOptions, 'concurrency'>) {
    this.#served = served;
    this.#options = options;
  }

  /**
   * Slots that may be filled.
   *
   * @param held rows that are held beside those that run
   */
  free(held: number): number {
    return this.isPaused ? 0 : this.#options.concurrency - this.#taken - held;
  }

  /** What is left of a limit. */
  freeOf(limit: Limit | undefined): number {
    const most = limit?.concurrency;
    return limit === undefined || most === undefined ? Infinity : most - (this.#running.get(limit) ?? 0);
  }

  /** Returns the limit that bounds the attempt, for {@link end}. */
  start({ route }: ClaimedTask): Limit | undefined {
    this.#taken += 1;
    const { limit } = this.#served.of(plainRoute(route));
    if (limit?.concurrency !== undefined) this.#running.set(limit, (this.#running.get(limit) ?? 0) + 1);
    return limit;
  }

  /** An attempt with that limit has ended. Returns whether the limit was reached, so that claims have left its other tasks out. */
  end(limit: Limit | undefined): boolean {
    this.#taken -= 1;
    if (limit?.concurrency === undefined) return false;
    const running = this.#running.get(limit) ?? 0;
    this.#running.set(limit, running - 1);
    return running >= limit.concurrency;
  }
}

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

/**
 * Says what may be claimed: no more than there are free slots, and of no limit more than is left of it. A handler at its limit is left
 * out, so it costs nothing. Routes that share a limit are only asked for when they have work: those without would take from it.
 */
export class Demands {
  readonly #served: ServedRoutes;
  readonly #capacity: Capacity;
  readonly #map: RouteMap;
  readonly #order: 'age' | 'fair';
  #turn = false;

  constructor(served: ServedRoutes, capacity: Capacity, map: RouteMap, order: 'age' | 'fair') {
    this.#served = served;
    this.#capacity = capacity;
    this.#map = map;
    this.#order = order;
  }

  /** True when a route is asked for by every claim; what others have must be found out. */
  isAlwaysAsked(route: Route): boolean {
    const { own } = this.#served;
    return own.length <= mostAlways && own.some((one) => one.route === route && !one.sharesLimit);
  }

  /**
   * What may be claimed now.
   *
   * @param held rows that are held beside those that run
   * @param most attempts that one statement claims at most
   * @param except plain routes to leave out
   */
  read(held: number, most: number, except: ReadonlySet<Route>): Demand {
    const total = this.#capacity.free(held);
    if (total <= 0) return nothing;
    const limit = Math.min(total, most);
    const left = new Map<Limit, number>();
    const room: LimitRoom = {
      of: (bound) => (bound && left.get(bound)) ?? this.#capacity.freeOf(bound),
      isFull: (bound) => this.#capacity.freeOf(bound) <= 0,
    };
    const { own } = this.#served;
    const always: RouteDemand[] = [];
    let isLeftOut = false;
    for (const { route, only, sharesLimit, limit: bound } of own.length <= mostAlways ? own : []) {
      if (sharesLimit || except.has(route)) continue;
      if (bound?.concurrency === undefined) {
        always.push({ route, limit, only });
        continue;
      }
      const free = Math.min(limit, room.of(bound));
      if (free <= 0) continue;
      const hasOthers = this.#map.hasWorkFor(bound);
      const kept = hasOthers ? this.#keptForOthers(free) : 0;
      left.set(bound, kept);
      isLeftOut ||= hasOthers && kept === 0;
      if (free > kept) always.push({ route, limit: free - kept, only });
    }
    const chosen =
      this.#map.heads.size > 0 ? this.#map.choose(limit, this.#order === 'fair', room, except) : [];
    return { total, always, chosen, isLeftOut };
  }

  /** Half of what is left of a limit is for the other routes that have work; a single slot in turn. */
  #keptForOthers(free: number): number {
    if (free > 1) return Math.floor(free / 2);
    this.#turn = !this.#turn;
    return this.#turn ? 1 : 0;
  }
}
