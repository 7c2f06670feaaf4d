import type { ClaimRequest, SettleAndClaimResult } from '../../storage/claims.js';
import type { Route } from '../../storage/attempt.js';
import { ClaimCursor } from './claim-cursor.js';
import type { Demand } from './demand.js';
import { FairShares } from './fair-shares.js';

/** Claims that count first, after one has met work on several routes. */
const countingClaims = 16;

/** Turns what a worker can take into a claim, and learns from each answer where and how the next one looks. */
export class ClaimPlanner {
  readonly cursor: ClaimCursor;
  readonly #shares: FairShares | undefined;
  /** Claims that are still to count: while several routes have work, locking at once would lock far too much. */
  #counting = 0;

  constructor(order: 'age' | 'fair', cursor = new ClaimCursor()) {
    this.cursor = cursor;
    this.#shares = order === 'fair' ? new FairShares() : undefined;
  }

  /** The claim that is sent next; {@link learn} or `cursor.failed` says how it ended. */
  plan(demand: Demand): ClaimRequest {
    const request = this.#make(demand);
    this.cursor.sent(request);
    return request;
  }

  #make(demand: Demand): ClaimRequest {
    const { total } = demand;
    if (this.#shares) {
      return { shape: 'shared', stretches: this.cursor.stretches(this.#shares.divide(demand)), total };
    }
    const shape = this.#counting > 0 ? 'counted' : 'single';
    return { shape, stretches: this.cursor.stretches(demand.routes), total };
  }

  /** @param tookMs from sending the claim to its answer */
  learn(request: ClaimRequest, result: SettleAndClaimResult, tookMs: number): void {
    const { claimed, contended } = result;
    const routes = new Set<Route>();
    for (const { route } of claimed) routes.add(route);
    this.#shares?.learn(request, routes);
    if (contended || routes.size > 1) this.#counting = countingClaims;
    else if (request.shape === 'counted') this.#counting -= 1;
    this.cursor.learn(request, result, tookMs);
  }
}
