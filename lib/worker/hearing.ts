import type { Ring } from '../coordination/ring.js';
import { plainRoute } from '../storage/route.js';
import type { Claimer } from './claiming/claimer.js';
import type { Demands, ServedRoutes } from './claiming/routes.js';
import type { Discovery } from './claiming/discovery.js';
import type { RouteMap } from './claiming/route-map.js';
import type { Promotion } from './promotion.js';

export interface HearingParts {
  readonly claimer: Pick<Claimer, 'expectAnything' | 'expectSince'>;
  readonly served: Pick<ServedRoutes, 'has' | 'isForeign'>;
  readonly demands: Pick<Demands, 'isAlwaysAsked'>;
  readonly map: Pick<RouteMap, 'learn'>;
  readonly discovery: Pick<Discovery, 'request'>;
  readonly promotion: Pick<Promotion, 'request'>;
}

/** What a worker does with rings: one that names its route leads there, or is another worker's business. */
export class Hearing {
  readonly #parts: HearingParts;

  constructor(parts: HearingParts) {
    this.#parts = parts;
  }

  /** Answers whether there is something to do. */
  heard(ring: Ring): boolean {
    const { claimer, served, discovery, promotion } = this.#parts;
    const { later, dueMs, highest, route } = ring;
    if (route !== undefined && !later && served.isForeign(plainRoute(route))) return false;
    if (dueMs === undefined) claimer.expectAnything();
    // Only a look claims attempts that run alone.
    if (later) promotion.request();
    if (dueMs !== undefined && highest !== undefined) claimer.expectSince(dueMs, highest);
    if (!this.#follow(ring)) discovery.request();
    return true;
  }

  /** Follows a ring to the route that it names; answers false when there is more to find out. */
  #follow({ later, dueMs, highest, route }: Ring): boolean {
    if (route === undefined || later || dueMs === undefined || highest === undefined) return false;
    const { served, demands, map } = this.#parts;
    if (demands.isAlwaysAsked(route)) return true;
    if (!served.has(plainRoute(route))) return false;
    map.learn({ route, priority: highest, dueMs });
    return true;
  }
}
