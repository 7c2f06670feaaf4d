import type { Route, RouteDemand } from '../../storage/attempt.js';
import type { KnownDemand } from './routes.js';

/** Busy routes remembered beside those of the last claim. */
const mostRemembered = 1_000;

/**
 * `order: 'fair'`: the free slots are shared among the routes that had work last time, whatever its age and priority;
 * every other route gets a probe of one attempt, which goes first. So a flooded topic cannot keep a quiet one waiting.
 * Within a route the order of pick-up holds.
 */
export class FairShares {
  readonly #busy = new Set<Route>();
  #turn = 0;

  /** The routes in the order they are served, each with its share as its limit. */
  divide(routes: readonly KnownDemand[], total: number): readonly KnownDemand[] {
    const hasWork = ({ route, hasWork: isKnown }: KnownDemand): boolean =>
      isKnown === true || this.#busy.has(route);
    const busy = routes.filter(hasWork);
    const idle = routes.filter((demand) => !hasWork(demand));
    const probe = busy.length === 0 ? Math.max(1, Math.floor(total / idle.length)) : 1;
    const probes = idle.map((demand) => ({ ...demand, limit: Math.min(demand.limit, probe) }));
    return [...this.#inTurn(probes), ...this.#shared(this.#inTurn(busy), total)];
  }

  /**
   * Learns from a claim.
   *
   * @param asked the routes that it was for
   * @param gave those of which it has claimed something
   */
  learn(asked: readonly RouteDemand[], gave: ReadonlySet<Route>): void {
    this.#turn += 1;
    for (const { route } of asked) if (!gave.has(route)) this.#busy.delete(route);
    for (const route of gave) this.#busy.add(route);
    // Routes come and go; one that is forgotten only gets a probe first.
    for (const route of this.#busy) {
      if (this.#busy.size <= mostRemembered + asked.length) break;
      if (!gave.has(route)) this.#busy.delete(route);
    }
  }

  /** Equal shares; what a route cannot take goes to the others, and what cannot be divided to the first ones. */
  #shared(routes: readonly KnownDemand[], total: number): readonly KnownDemand[] {
    const ascending = [...routes].sort((a, b) => a.limit - b.limit);
    const share = new Map<Route, number>();
    let left = total;
    ascending.forEach(({ route, limit }, index) => {
      const own = Math.min(limit, Math.ceil(left / (ascending.length - index)));
      share.set(route, own);
      left -= own;
    });
    return routes
      .map((demand) => ({ ...demand, limit: share.get(demand.route) ?? 0 }))
      .filter(({ limit }) => limit > 0);
  }

  #inTurn(routes: readonly KnownDemand[]): readonly KnownDemand[] {
    const first = routes.length === 0 ? 0 : this.#turn % routes.length;
    return [...routes.slice(first), ...routes.slice(0, first)];
  }
}
