import type { Ring } from '../../coordination/ring.js';
import type { ClaimedTask, Route } from '../../storage/attempt.js';
import type { Claims } from '../../storage/claims.js';
import type { QueueDatabase } from '../../storage/database.js';
import { isolatedPrefix, keyRange, plainRoute, routesAfter } from '../../storage/route.js';
import type { RouteHead, RouteRange } from '../../storage/waiting-route.js';
import { WalkPace } from '../../timing/walk-pace.js';
import type { Promotion } from '../promotion.js';
import type { Claimer } from './claimer.js';
import type { Isolation } from './isolation.js';
import type { Agenda } from '../agenda.js';
import type { Demands, ServedRoutes } from './routes.js';
import { mostHeads, type RouteMap } from './route-map.js';
import type { Unreadable } from './unreadable.js';

export interface RouteScanParts {
  readonly database: Pick<QueueDatabase, 'attempts'>;
  readonly claims: Pick<Claims, 'claimUnattended'>;
  readonly served: Pick<ServedRoutes, 'own' | 'unknownRanges' | 'takesAny' | 'learn' | 'has' | 'isForeign'>;
  readonly demands: Pick<Demands, 'isAlwaysAsked'>;
  readonly map: RouteMap;
  readonly unreadable: Pick<Unreadable, 'end'>;
  readonly claimer: Pick<Claimer, 'free' | 'expectAnything' | 'expectSince'>;
  readonly promotion: Pick<Promotion, 'request'>;
  readonly isolation: Pick<Isolation, 'request'>;
  readonly agenda: Pick<Agenda, 'lookIn' | 'claimIn'>;
}

/** Unknown routes are looked for no more often than that. */
const pauseMs = 100;
/** How often a worker that always finds something looks for unserved routes anyway. */
const atLeastMs = 5_000;
/** What others have locked is looked for again after that time. */
const lockedAgainMs = 1_000;
/** Dead attempts claimed by one statement. */
const attendedAtOnce = 100;
/** Routes read by one statement: some ms. */
const routesAtOnce = 1_000;
/** Nearly always empty. */
const isolatedRoutes = routesAfter(isolatedPrefix);
/** Ranges read by one statement. */
const rangesAtOnce = 100;

/**
 * Finds what a ring may have been about besides the routes that every claim asks for: other routes with work, and dead attempts
 * without a handler. Routes are read in slices of the index, one statement each; a rotation through all of them takes at most
 * 3% of the time, unless slots are free and it finds work for them.
 */
export class RouteScan {
  readonly #parts: RouteScanParts;
  readonly #pace = new WalkPace(0);
  #due = false;
  /** True while dead attempts may wait for a slot. */
  #owing = false;
  #lastAt = -Infinity;
  /** Where the rotation goes on; empty when it is over. */
  #left: readonly RouteRange[] = [];
  /** True when another rotation follows. */
  #isOwed = false;
  /** True when the last slice had routes of this worker. */
  #hasFound = false;

  constructor(parts: RouteScanParts) {
    this.#parts = parts;
  }

  request(): void {
    this.#due = true;
  }

  /**
   * A ring that names its route leads there, or is another worker's business. Returns whether there is something to do.
   */
  heard({ later, dueMs, highest, route }: Ring): boolean {
    const { claimer, served, demands, map, promotion } = this.#parts;
    const isAsked = route !== undefined && demands.isAlwaysAsked(route);
    if (!isAsked && route !== undefined && !later && served.isForeign(plainRoute(route))) return false;
    // Only a look claims attempts that run alone.
    if (later) promotion.request();
    if (dueMs === undefined) claimer.expectAnything();
    else claimer.expectSince(dueMs, highest ?? Infinity);
    if (route === undefined || later || dueMs === undefined || highest === undefined) this.request();
    else if (!isAsked) {
      if (dueMs !== 'lately' && served.has(plainRoute(route))) map.learn({ route, priority: highest, dueMs });
      else this.request();
    }
    return true;
  }

  /** False while there is nothing to find out. */
  get hasToDo(): boolean {
    return this.#due || this.#owing || this.#left.length > 0 || this.#parts.map.hasForgotten;
  }

  /** With slots to fill, what was forgotten is looked for again. */
  get #isDue(): boolean {
    const { map, claimer, agenda } = this.#parts;
    if (map.hasForgotten && map.heads.size < claimer.free) {
      if (map.takeForgotten() === 'fruitful') this.#due = true;
      // Other sessions have locked what there is.
      else agenda.lookIn(lockedAgainMs);
    }
    return this.#due;
  }

  /** True when a claim before it would take tasks out of turn, or keep it waiting for too long. */
  get comesFirst(): boolean {
    if (!this.#isDue && !this.#owing) return false;
    return (this.#due && this.#parts.served.takesAny) || performance.now() - this.#lastAt > atLeastMs;
  }

  /** True when the next slice may be read beside claims that find something. */
  get mayGoOn(): boolean {
    const { map, claimer } = this.#parts;
    if (this.#left.length === 0 || map.heads.size >= mostHeads) return false;
    return this.#pace.due || (this.#hasFound && map.heads.size < claimer.free);
  }

  /** Returns whether to look now: when it was asked to, and not at once after the last look. */
  begin(): boolean {
    const { claimer, agenda } = this.#parts;
    if (!this.#isDue && !(this.#owing && claimer.free > 0)) return false;
    const pause = this.#lastAt + pauseMs - performance.now();
    this.#due = false;
    if (pause > 0) {
      agenda.lookIn(pause);
      return false;
    }
    this.#lastAt = performance.now();
    // What a rotation has passed already is found by the next one.
    if (this.#left.length > 0) this.#isOwed = true;
    else this.#left = this.#ranges();
    this.#hasFound = true;
    return true;
  }

  /** Claims dead attempts that no worker has a handler for: the first worker gives them the default treatment. */
  async claimUnattended(): Promise<readonly ClaimedTask[]> {
    const { claims, unreadable, claimer, agenda } = this.#parts;
    const most = Math.min(claimer.free, attendedAtOnce);
    this.#owing = most <= 0;
    if (this.#owing) return [];
    try {
      const claimed = await claims.claimUnattended(most);
      this.#owing = claimed.length === most;
      return claimed;
    } catch (error) {
      if (!(await unreadable.end(error, 'unattended'))) throw error;
      agenda.lookIn(pauseMs);
      return [];
    }
  }

  /** Reads the next slice; returns whether it has routes of this worker. */
  async findRoutes(): Promise<boolean> {
    const { database, served, demands, map, isolation, agenda } = this.#parts;
    const ranges = this.#left.slice(0, rangesAtOnce);
    if (ranges.length === 0) return false;
    const sentAt = map.clock;
    const heads = await this.#pace.walk(() =>
      database.attempts
        .routeHeads(ranges, routesAtOnce)
        .catch((error: unknown) => this.#withoutUnreadable(error)),
    );
    this.#left = this.#after(ranges, heads);
    if (this.#left.length === 0 && this.#isOwed) {
      this.#isOwed = false;
      this.#left = this.#ranges();
    }
    await served.learn(heads.map(({ route }) => plainRoute(route)));
    this.#hasFound = false;
    for (const head of heads) {
      if (head.route.startsWith(isolatedPrefix)) {
        isolation.request();
        continue;
      }
      if (demands.isAlwaysAsked(head.route) || !served.has(plainRoute(head.route))) continue;
      map.learn(head, sentAt);
      this.#hasFound = true;
    }
    if (this.#left.length > 0) agenda.claimIn(Math.max(1, this.#pace.dueInMs));
    return this.#hasFound;
  }

  /** All that no claim asks for by itself. */
  #ranges(): readonly RouteRange[] {
    const { served, demands } = this.#parts;
    const own = served.own.flatMap(({ route }) => {
      const keys = keyRange(route);
      return demands.isAlwaysAsked(route) ? [keys] : [{ from: route, below: keys.below }];
    });
    return [isolatedRoutes, ...own, ...served.unknownRanges];
  }

  /** What is left after a slice: a full one goes on at its last route. */
  #after(ranges: readonly RouteRange[], heads: readonly RouteHead[]): readonly RouteRange[] {
    const others = this.#left.slice(ranges.length);
    const last = heads.at(-1)?.route;
    if (heads.length < routesAtOnce || last === undefined) return others;
    const at = ranges.findIndex(({ from, below }) => isWithin(last, from, below));
    const [current, ...rest] = ranges.slice(at);
    return current ? [{ from: last, below: current.below }, ...rest, ...others] : others;
  }

  /** The names of the routes cannot be read: the attempts that are to blame are ended first, then the names are read again. */
  async #withoutUnreadable(error: unknown): Promise<readonly RouteHead[]> {
    const { unreadable, agenda } = this.#parts;
    if (!(await unreadable.end(error, 'every route'))) throw error;
    this.request();
    agenda.lookIn(pauseMs);
    return [];
  }
}

/** By bytes, as the database sorts routes. */
function isWithin(route: Route, from: Route, below: Route): boolean {
  const bytes = Buffer.from(route);
  return bytes.compare(Buffer.from(from)) >= 0 && bytes.compare(Buffer.from(below)) < 0;
}
