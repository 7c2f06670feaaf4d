import type { Route } from '../attempt.js';
import type { ClaimDemand } from '../claims.js';
import { isolatedPrefix } from '../route.js';
import { ClaimCursor } from './claim-cursor.js';
import { isBounded, type ClaimAnswer, type ClaimRequest } from './claim-request.js';
import { IdFloor } from './id-floor.js';

/** Attempts that are seen of each stretch at least: they cost next to nothing. */
const leastDepth = 16;

/** Claims that count first, after one has met work on several routes. */
const countingClaims = 16;

/** Turns what a worker can take into a statement's request, and learns from each answer where and how the next one looks. */
export class ClaimPlanner {
  readonly cursor: ClaimCursor;
  readonly #floor: IdFloor;
  /** Part of a claim that each stretch is looked through for: more than it is likely to give. */
  #share = 1;
  /** Claims that are still to count: while several routes have work, locking at once would lock far too much. */
  #counting = 0;

  constructor(cursor = new ClaimCursor(), floor = new IdFloor()) {
    this.cursor = cursor;
    this.#floor = floor;
  }

  /**
   * The request that is sent next; {@link learn} or `cursor.failed` says how it ended.
   *
   * @param isPlain true for one from the front of which nothing is learned
   */
  plan(demand: ClaimDemand, isPlain: boolean): ClaimRequest {
    if (isPlain) return fromTheFront(demand);
    const { routes, total } = demand;
    const request = {
      shape: this.#shape(demand),
      stretches: this.cursor.stretches(routes),
      total,
      depth: Math.min(total, Math.max(leastDepth, Math.ceil(total * this.#share))),
      leastId: this.#floor.leastId,
    };
    this.cursor.sent(request);
    return request;
  }

  /** @param tookMs from sending the claim to its answer */
  learn(request: ClaimRequest, answer: ClaimAnswer, tookMs: number): void {
    const { claimed, contended } = answer;
    const routes = new Set<Route>();
    for (const { route } of claimed) routes.add(route);
    if (contended || routes.size > 1) this.#counting = countingClaims;
    else if (request.shape === 'counted') this.#counting -= 1;
    this.#deepen(request, answer, routes.size);
    this.cursor.learn(request, answer, tookMs);
    if (!isBounded(request)) this.#floor.swept(claimed);
  }

  /** True when it is time to find below which id no attempt is unfinished, by {@link findFloor}. */
  get floorDue(): boolean {
    return this.#floor.searchDue;
  }

  /** @param find answers below which id no attempt is unfinished; undefined when it cannot say */
  async findFloor(find: () => Promise<bigint | undefined>): Promise<void> {
    if (await this.#floor.search(find)) this.cursor.boundsMoved();
  }

  /** Twice what a route gives on the average; after a claim that had not seen enough, twice as much as before. */
  #deepen({ shape, total }: ClaimRequest, { claimed, isCut }: ClaimAnswer, routes: number): void {
    if (shape !== 'counted' || routes === 0) return;
    const isShort = isCut && claimed.length < total;
    this.#share = isShort ? Math.min(1, 2 * this.#share) : 2 / routes;
  }

  #shape({ order }: ClaimDemand): ClaimRequest['shape'] {
    if (order === 'listed') return 'shared';
    return this.#counting > 0 ? 'counted' : 'single';
  }
}

/** True for attempts that are run alone: they are few, and nothing is learned from them. */
export function isOfIsolated({ routes }: ClaimDemand): boolean {
  return routes.every(({ route }) => route.startsWith(isolatedPrefix));
}

/** A request that depends on no claim before it. */
export function fromTheFront({ routes, total, order }: ClaimDemand): ClaimRequest {
  return { shape: order === 'listed' ? 'shared' : 'counted', stretches: routes, total, depth: total };
}
