import type { ClaimedTask, Route, RouteDemand } from '../../storage/attempt.js';
import { plainRoute } from '../../storage/route.js';
import type { RouteHead } from '../../storage/waiting-route.js';
import type { Limit } from '../../subscribers/handler-registry.js';
import { Heap } from './heap.js';

/** A route with work, and the place of its best attempt as far as it is known: none of its attempts comes before that. */
interface Head extends RouteHead {
  /** The route that it is served by. */
  readonly plain: Route;
  /** When it was learned, in steps of the map's own. */
  readonly learnedAt: number;
  /** Claims in a row that asked for it without result. */
  readonly misses: number;
}

/** The routes with work that one limit bounds. */
interface BoundedRoutes {
  readonly limit: Limit | undefined;
  /** Also those that are known better by now: they are left out when their turn comes. */
  readonly heads: Heap<Head>;
  /** Its place among the others; undefined while it has none. */
  place: Place | undefined;
}

/** They stand where their best head does. */
interface Place {
  readonly bounded: BoundedRoutes;
  readonly head: Head;
}

/** What else a claim has shown. */
export interface ClaimEnd {
  /** When it was sent, by {@link RouteMap.clock}. */
  readonly sentAt: number;
  /** True when it took less than it could have. */
  readonly isDrained: boolean;
  /** Routes that gave less than they have, because another session has locked their best attempts. */
  readonly blocked: readonly Route[];
  /** Routes that have more than was taken, if that is known. */
  readonly more: readonly Route[] | undefined;
}

/** What is known of plain routes. */
export interface RouteRules {
  of(route: Route): { readonly limit: Limit | undefined; readonly only: RouteDemand['only'] };
}

/** What is left of limits. */
export interface LimitRoom {
  /** Slots that routes may fill now. */
  of(limit: Limit | undefined): number;
  /** True when it is reached: its routes come back when it is freed. */
  isFull(limit: Limit | undefined): boolean;
}

/** Routes that are kept in mind; of more than that, the others are found when these have no work left. */
export const mostHeads = 20_000;

/** So many routes are asked for at least, where that many have work: their order holds even where heads are guessed. */
const leastAsked = 100;

/** Heads that are placed before the outdated ones among them are forgotten. */
const mostPlaced = 5 * mostHeads;

/** In fair order, routes that are passed over before a claim goes with fewer than it could. */
const mostPassedOver = 1_000;

/**
 * The routes that have work, of a worker that serves too many to ask for all of them in each claim. A claim asks for as many
 * routes as it has slots: of those with the best heads, which hold the best attempts of all; in fair order, for the next ones
 * in turn. So what a claim costs depends on what it takes, not on how many routes wait.
 *
 * Fed by rings, by slices of the index and by what claims answer. Routes whose limit is reached, and routes that are paused,
 * stand aside until that changes.
 */
export class RouteMap {
  readonly #served: RouteRules;
  /** In the order of turns. */
  readonly heads = new Map<Route, Head>();
  /** Steps forward with each head that is learned: a moment, to compare what is learned later with what was sent before. */
  clock = 0;
  /** True when routes were forgotten that may have work. */
  hasForgotten = false;
  #byLimit = new Map<Limit | undefined, BoundedRoutes>();
  #places = newPlaces();
  #placed = 0;
  /** Those of paused routes. */
  #aside: Head[] = [];
  #except: ReadonlySet<Route> | undefined;
  #hasGiven = false;

  constructor(served: RouteRules) {
    this.#served = served;
  }

  /**
   * True when routes were forgotten that may have work: `fruitful` when some of the map gave something since it was last asked.
   * Asked once, it is false until that happens again.
   */
  takeForgotten(): false | 'fruitful' | 'fruitless' {
    const had = this.hasForgotten && (this.#hasGiven ? 'fruitful' : 'fruitless');
    this.hasForgotten = false;
    this.#hasGiven = false;
    return had;
  }

  hasWorkFor(limit: Limit): boolean {
    return (this.#byLimit.get(limit)?.heads.size ?? 0) > 0;
  }

  /** A route has work. Of what is known of it the better holds, unless that is older than `since`. */
  learn({ route, priority, dueMs }: RouteHead, since = -Infinity): void {
    const known = this.heads.get(route);
    if (known && known.learnedAt > since && isBetter(known, { route, priority, dueMs })) return;
    if (!known && this.heads.size >= 2 * mostHeads) return void (this.hasForgotten = true);
    this.#put({
      route,
      priority,
      dueMs,
      plain: known?.plain ?? plainRoute(route),
      learnedAt: ++this.clock,
      misses: 0,
    });
  }

  /** A limit that was reached is not any more. */
  freed(limit: Limit): void {
    const bounded = this.#byLimit.get(limit);
    if (bounded) this.#place(bounded);
  }

  /**
   * The routes that a claim asks for, and how much of each.
   *
   * @param most how many slots there are for them
   * @param isFair true to take turns
   * @param except routes to leave out, plain ones with all their keys
   */
  choose(most: number, isFair: boolean, room: LimitRoom, except: ReadonlySet<Route>): readonly RouteDemand[] {
    if (except !== this.#except) this.#recall(except);
    const chosen = isFair
      ? this.#nextInTurn(most, room, except)
      : this.#best(Math.max(most, leastAsked), room, except);
    return this.#divided(chosen, most, room);
  }

  /**
   * Learns from a claim.
   *
   * @param asked what {@link choose} had answered, and was sent
   */
  answered(
    asked: readonly RouteDemand[],
    claimed: readonly ClaimedTask[],
    { sentAt, isDrained, blocked, more }: ClaimEnd,
  ): void {
    const taken = new Map<Route, { n: number; last: ClaimedTask }>();
    for (const last of claimed) taken.set(last.route, { n: (taken.get(last.route)?.n ?? 0) + 1, last });
    const left = more && new Set(more);
    for (const { route, limit } of asked) {
      const head = this.heads.get(route);
      if (!head || head.learnedAt > sentAt || blocked.includes(route)) continue;
      const { n = 0, last } = taken.get(route) ?? {};
      this.#hasGiven ||= n > 0;
      if (left && n < limit && !left.has(route)) this.heads.delete(route);
      else if (!left && n < limit && isDrained) this.#forget(head);
      // Nothing before the last one is left.
      else if (last) this.#put({ ...head, ...placeOf(last), learnedAt: ++this.clock, misses: 0 });
      else this.#missed(head, claimed.at(-1), left !== undefined);
    }
  }

  /**
   * A route gave nothing: others had better ones, or it has nothing any more. If it was forgotten wrongly, the index tells.
   *
   * @param hasMore true when it is known to have something
   */
  #missed(head: Head, worst: ClaimedTask | undefined, hasMore: boolean): void {
    const place = worst && placeOf(worst);
    if (!place || !isBetter(head, { route: head.route, ...place })) return;
    if (!hasMore && head.misses > 0 && this.heads.size > leastAsked) this.#forget(head);
    else this.#put({ ...head, ...place, learnedAt: ++this.clock, misses: head.misses + 1 });
  }

  #forget({ route }: Head): void {
    this.heads.delete(route);
    this.hasForgotten = true;
  }

  #put(head: Head): void {
    this.heads.set(head.route, head);
    if (++this.#placed > mostPlaced) return this.#tidy();
    this.#line(head);
  }

  /** Puts a head among those that its limit bounds. */
  #line(head: Head): void {
    const limit = this.#served.of(head.plain).limit;
    let bounded = this.#byLimit.get(limit);
    if (!bounded)
      this.#byLimit.set(limit, (bounded = { limit, heads: new Heap<Head>(isBetter), place: undefined }));
    bounded.heads.push(head);
    this.#place(bounded);
  }

  #place(bounded: BoundedRoutes): void {
    const head = bounded.heads.best;
    if (head === undefined || bounded.place?.head === head) return;
    bounded.place = { bounded, head };
    this.#places.push(bounded.place);
  }

  /** Forgets the heads that are known better by now. */
  #tidy(): void {
    this.#byLimit = new Map();
    this.#places = newPlaces();
    this.#placed = this.heads.size;
    this.#aside = [];
    for (const head of this.heads.values()) this.#line(head);
  }

  #setAside(head: Head): void {
    this.#aside.push(head);
    // Of a route that is learned again and again only the last head counts.
    if (this.#aside.length <= 2 * this.heads.size + leastAsked) return;
    this.#aside = this.#aside.filter((one) => this.heads.get(one.route) === one);
  }

  /** Pauses have changed: what stood aside comes back. */
  #recall(except: ReadonlySet<Route>): void {
    this.#except = except;
    const aside = this.#aside;
    this.#aside = [];
    for (const head of aside) if (this.heads.get(head.route) === head) this.#line(head);
  }

  #best(most: number, room: LimitRoom, except: ReadonlySet<Route>): Head[] {
    const chosen: Head[] = [];
    const taken = new Map<BoundedRoutes, number>();
    while (chosen.length < most) {
      const place = this.#places.pop();
      if (!place) break;
      const { bounded, head } = place;
      if (bounded.place !== place) continue;
      bounded.place = undefined;
      const n = taken.get(bounded) ?? 0;
      if (room.of(bounded.limit) <= n) {
        if (!room.isFull(bounded.limit)) taken.set(bounded, n);
        continue;
      }
      bounded.heads.pop();
      const isCurrent = this.heads.get(head.route) === head;
      if (isCurrent && isLeftOut(head, except)) this.#setAside(head);
      else if (isCurrent) {
        chosen.push(head);
        taken.set(bounded, n + 1);
      }
      this.#place(bounded);
    }
    // They keep their places until the answer comes.
    for (const head of chosen) this.#line(head);
    for (const bounded of taken.keys()) this.#place(bounded);
    return chosen;
  }

  #nextInTurn(most: number, room: LimitRoom, except: ReadonlySet<Route>): Head[] {
    const chosen: Head[] = [];
    const taken = new Map<Limit | undefined, number>();
    // Those that have had their turn come again at the end.
    let left = Math.min(this.heads.size, most + mostPassedOver);
    for (const [route, head] of this.heads) {
      if (chosen.length >= most || left-- === 0) break;
      const limit = this.#served.of(head.plain).limit;
      const n = taken.get(limit) ?? 0;
      // What is passed over comes last, or it would be passed over again and again.
      this.heads.delete(route);
      this.heads.set(route, head);
      if (isLeftOut(head, except) || room.of(limit) <= n) continue;
      chosen.push(head);
      taken.set(limit, n + 1);
    }
    return chosen;
  }

  /** Routes that one limit bounds share what is left of it. */
  #divided(heads: readonly Head[], most: number, room: LimitRoom): readonly RouteDemand[] {
    const sharing = new Map<Limit | undefined, number>();
    const served = heads.map(({ plain }) => this.#served.of(plain));
    for (const { limit } of served) sharing.set(limit, (sharing.get(limit) ?? 0) + 1);
    return served.map(({ limit: bound, only }, index) => {
      const route = heads[index]?.route ?? '';
      const free = room.of(bound);
      // At least 1: no more are chosen than it has left.
      const share = free === Infinity ? free : Math.floor(free / (sharing.get(bound) ?? 1));
      const limit = Math.min(most, share);
      return { route, limit, only, hasWork: true };
    });
  }
}

function isLeftOut({ plain, route }: Head, except: ReadonlySet<Route>): boolean {
  return except.has(plain) || except.has(route);
}

function newPlaces(): Heap<Place> {
  return new Heap<Place>((a, b) => isBetter(a.head, b.head));
}

/** True when an attempt of that place comes before one of the other. */
function isBetter(one: RouteHead | undefined, other: RouteHead | undefined): boolean {
  if (one === undefined || other === undefined) return one !== undefined;
  return one.priority !== other.priority ? one.priority > other.priority : one.dueMs < other.dueMs;
}

function placeOf({ task }: ClaimedTask): Pick<RouteHead, 'priority' | 'dueMs'> {
  return { priority: task.priority, dueMs: task.dueAt.getTime() };
}
