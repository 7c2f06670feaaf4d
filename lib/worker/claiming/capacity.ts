import { isolatedRoute, plainRoute, publicationRoute } from '../../storage/route.js';
import type { ServedRoutes } from '../../storage/waiting-route.js';
import type { ClaimedTask, Route, RouteDemand } from '../../storage/attempt.js';
import type { Handler, HandlerRegistry } from '../../subscribers/handler-registry.js';
import type { WorkerOptions } from '../../options/worker-options.js';

/** What a worker can take now. */
export interface Demand {
  readonly routes: readonly RouteDemand[];
  /** Free slots: the limit of all routes together. */
  readonly total: number;
}

/** Routes kept in mind though they have nothing pending. */
const mostRemembered = 100;

export const nothing: Demand = { routes: [], total: 0 };

/**
 * Counts running attempts and says what may be claimed beside them: no more than there are free slots, and of
 * no handler more than its own limit. A handler at its limit is left out, so it costs nothing.
 */
export class Capacity {
  readonly #registry: HandlerRegistry;
  readonly #options: WorkerOptions;
  readonly #running = new Map<Handler, number>();
  #taken = 0;
  /** Routes without a handler of their own that had tasks, the longest unseen first. */
  readonly #discovered = new Set<Route>();
  #rotation = 0;

  constructor(registry: HandlerRegistry, options: WorkerOptions) {
    this.#registry = registry;
    this.#options = options;
  }

  /** True when this worker serves routes without a handler of their own too. */
  get mustDiscover(): boolean {
    return this.#registry.takesAnyTopic || this.#failsUnknown;
  }

  /** True when the tasks of routes that are not known yet have their place in the order of pick-up. */
  get takesAnyTopic(): boolean {
    return this.#registry.takesAnyTopic;
  }

  /**
   * Slots that are free.
   *
   * @param held rows that are held beside those that run
   */
  free(held: number): number {
    return this.#options.concurrency - this.#taken - held;
  }

  /** The routes on which tasks may wait for this worker while it is idle. */
  get served(): ServedRoutes {
    const live = [publicationRoute, ...this.#registry.routes().filter((route) => this.#takesLive(route))];
    return {
      routes: [...live, ...live.map(isolatedRoute)],
      deadRoutes: this.#registry.announcedDead,
      discovers: this.mustDiscover,
    };
  }

  /** True when live attempts of some of these routes, which have pending ones, are this worker's to claim. */
  async wants(pending: readonly Route[]): Promise<boolean> {
    if (pending.length === 0) return false;
    const plain = pending.map(plainRoute);
    await this.learn(plain);
    return plain.some(
      (route) => route === publicationRoute || (this.#isOurs(route) && this.#takesLive(route)),
    );
  }

  /** Finds who serves newly seen routes. */
  async learn(pending: readonly Route[]): Promise<void> {
    await this.#registry.learn(pending);
  }

  /** Remembers the pending routes that have no handler of their own but are ours; true when there are any. */
  discover(pending: readonly Route[]): boolean {
    const known = new Set(this.#registry.routes());
    const ours = pending
      .map(plainRoute)
      .filter((route) => route !== publicationRoute && !known.has(route) && this.#isOurs(route));
    for (const route of ours) {
      this.#discovered.delete(route);
      this.#discovered.add(route);
    }
    // A route seen once is likely to be seen again, so it is kept; but each costs every claim a probe.
    for (const route of this.#discovered) {
      if (this.#discovered.size <= Math.max(mostRemembered, ours.length)) break;
      this.#discovered.delete(route);
    }
    return ours.length > 0;
  }

  start({ route }: ClaimedTask): void {
    this.#taken += 1;
    const handler = this.#limitedBy(route);
    if (handler) this.#running.set(handler, (this.#running.get(handler) ?? 0) + 1);
  }

  /** Answers true when its handler was at its own limit, so that claims have left its other tasks out. */
  end({ route }: ClaimedTask): boolean {
    this.#taken -= 1;
    const handler = this.#limitedBy(route);
    if (!handler) return false;
    const running = this.#running.get(handler) ?? 0;
    this.#running.set(handler, running - 1);
    return running >= (handler.rules.concurrency ?? Infinity);
  }

  /**
   * What may be claimed now.
   *
   * @param held rows that are held beside those that run
   * @param except routes to leave out
   */
  read(held: number, except: ReadonlySet<Route>): Demand {
    const total = this.free(held);
    if (total <= 0) return nothing;
    const routes: RouteDemand[] = [];
    const left = new Map<Handler, number>();
    for (const route of this.#routesInTurn()) {
      if (except.has(route)) continue;
      const limit = Math.min(total, this.#takeShare(route, left));
      if (limit > 0) routes.push({ route, limit, only: this.#only(route) });
    }
    return { routes, total };
  }

  /** What may be claimed to be run alone: one attempt, of any route of ours but some. */
  readIsolated(except: { has(route: Route): boolean }): Demand {
    const routes = this.#routesInTurn()
      .filter((route) => !except.has(route))
      .map((route) => ({ route: isolatedRoute(route), limit: 1, only: this.#only(route) }));
    return { routes, total: 1 };
  }

  /** Routes that share one handler's limit take turns in being first. */
  #routesInTurn(): readonly Route[] {
    const discovered = this.#registry.withoutLeft([...this.#discovered]);
    const first = discovered.length === 0 ? 0 : this.#rotation++ % discovered.length;
    const turned = first === 0 ? discovered : [...discovered.slice(first), ...discovered.slice(0, first)];
    return [publicationRoute, ...this.#registry.routes(), ...turned];
  }

  /** What the route's handler has left of its own limit; several routes of one handler share it. */
  #takeShare(route: Route, left: Map<Handler, number>): number {
    const handler = this.#limitedBy(route);
    const most = handler?.rules.concurrency;
    if (!handler || most === undefined) return Infinity;
    const free = left.get(handler) ?? most - (this.#running.get(handler) ?? 0);
    const ownRoute = handler.exclusive === true || !this.#discovered.has(route);
    const share = ownRoute ? free : Math.min(free, 1);
    left.set(handler, free - share);
    return share;
  }

  /**
   * Which attempts of a route this worker takes. Dead ones without a handler here are left to workers that have one;
   * `Discovery` claims those that no worker has one for.
   */
  #only(route: Route): RouteDemand['only'] {
    const { live, dead } = this.#registry.of(route);
    if (!dead) return 'live';
    return live || this.#failsUnknown ? undefined : 'dead';
  }

  #takesLive(route: Route): boolean {
    return this.#only(route) !== 'dead';
  }

  /** A route's limit is that of its live handler, or of the dead one where there is no other. */
  #limitedBy(route: Route): Handler | undefined {
    const { live, dead } = this.#registry.of(route);
    return live ?? dead;
  }

  #isOurs(route: Route): boolean {
    if (this.#registry.leaves(route)) return false;
    const { live, dead } = this.#registry.of(route);
    return live !== undefined || dead !== undefined || this.#failsUnknown;
  }

  /** A worker without code of its own (it only delivers) leaves the tasks of others alone. */
  get #failsUnknown(): boolean {
    return this.#options.unknownTasks === 'fail' && !this.#registry.isEmpty;
  }
}
