import type { PoolKind } from '../../options/isolation-options.js';
import type { WorkerOptions } from '../../options/worker-options.js';
import type { Route, RouteDemand } from '../../storage/attempt.js';
import { keyedRange, publicationRoute } from '../../storage/route.js';
import type { RouteRange } from '../../storage/waiting-route.js';
import type { Handler, HandlerRegistry, HandlerRules, Limit } from '../../subscribers/handler-registry.js';

/** What bounds isolated handlers: those of a kind share one limit, but for detached ones. */
export type IsolatedLimits = Readonly<Record<PoolKind, Limit>> & {
  readonly detached: { limitOf(rules: HandlerRules): Limit };
};

/** Which routes a worker serves, and what of each. All routes here are plain: without keys, not isolated. */
export class ServedRoutes {
  readonly #registry: HandlerRegistry;
  readonly #options: Pick<WorkerOptions, 'unknownTasks'>;
  readonly #isolated: IsolatedLimits | undefined;

  /** @param isolated what bounds isolated handlers. Default: they run here as all others */
  constructor(
    registry: HandlerRegistry,
    options: Pick<WorkerOptions, 'unknownTasks'>,
    isolated?: IsolatedLimits,
  ) {
    this.#registry = registry;
    this.#options = options;
    this.#isolated = isolated;
  }

  /** Routes with a handler of their own, and that of publications. */
  get own(): readonly Route[] {
    return [publicationRoute, ...this.#registry.routes()];
  }

  /** True when the tasks of routes that are not known yet have their place in the order of pick-up. */
  get takesAny(): boolean {
    return this.#registry.takesAny.length > 0;
  }

  /** Where routes of this worker may lie: those of its own with their keys, and all of which it has to find out. */
  get ranges(): readonly RouteRange[] {
    return [...this.own.map(keyedRange), ...this.unknownRanges];
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
    if (route === publicationRoute) return true;
    if (this.#registry.leaves(route)) return false;
    return this.#handlerOf(route) !== undefined || this.#failsUnknown;
  }

  /** True when no attempt of the route is, however much is learned of it. */
  isForeign(route: Route): boolean {
    return !this.has(route) && !this.unknownRanges.some(({ from, below }) => from <= route && route < below);
  }

  /** True when live attempts of the route are. */
  hasLive(route: Route): boolean {
    return this.has(route) && this.only(route) !== 'dead';
  }

  /**
   * Which attempts of a route this worker takes. Dead ones without a handler here are left to workers that have one;
   * `Discovery` claims those that no worker has one for.
   */
  only(route: Route): RouteDemand['only'] {
    const { live, dead } = this.#registry.of(route);
    if (!dead) return 'live';
    return live || this.#failsUnknown ? undefined : 'dead';
  }

  /** The limit that holds for the route; undefined where no handler serves it. */
  limitOf(route: Route): Limit | undefined {
    const rules = this.#handlerOf(route)?.rules;
    if (rules?.isolate === 'detached' && this.#isolated) return this.#isolated.detached.limitOf(rules);
    return this.#sharedOf(route) ?? rules;
  }

  /** True when the attempts of other routes count against its limit as well. */
  sharesLimit(route: Route): boolean {
    return this.#sharedOf(route) !== undefined;
  }

  #sharedOf(route: Route): Limit | undefined {
    const rules = this.#handlerOf(route)?.rules;
    if (rules?.lane || !rules?.isolate || rules.isolate === 'detached') return rules?.lane;
    return this.#isolated?.[rules.isolate];
  }

  /** The handler whose rules hold for the route: the live one, or the dead one where there is no other. */
  #handlerOf(route: Route): Handler | undefined {
    const { live, dead } = this.#registry.of(route);
    return live ?? dead;
  }

  /** A worker without code of its own (it only delivers) leaves the tasks of others alone. */
  get #failsUnknown(): boolean {
    return this.#options.unknownTasks === 'fail' && !this.#registry.isEmpty;
  }
}

/** All but the isolated ones. */
const everyRoute: readonly RouteRange[] = [{ from: 'p', below: 'u' }];
