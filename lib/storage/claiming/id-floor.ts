import { WalkPace } from '../../timing/walk-pace.js';
import type { ClaimedRow } from './claim-request.js';

/** From one search to the next at least: old partitions come to an end in hours. */
const searchPauseMs = 60_000;

/**
 * The least id that bounded claims look at. In a table of sixty partitions a claim that looks into each of them takes twice
 * as long, and in nearly all of them every attempt has ended: ids are given in ascending order, so these are the lower ones.
 *
 * A search finds below which id none is unfinished. What comes to be unfinished there later was set back by hand, or its
 * commit took longer than a whole partition took to fill: a sweep finds it, and then all partitions are looked into until
 * the next search.
 */
export class IdFloor {
  readonly #searches: WalkPace;
  #leastId: bigint | undefined;

  /** @param now a clock in ms that never goes back */
  constructor(now?: () => number) {
    this.#searches = new WalkPace(searchPauseMs, now);
  }

  /** Undefined while all are looked at. */
  get leastId(): bigint | undefined {
    return this.#leastId;
  }

  /** True when it is time to search. */
  get searchDue(): boolean {
    return this.#searches.due;
  }

  /**
   * Searches, and raises or lowers the floor. Answers true when it has moved.
   *
   * @param find answers below which id none is unfinished; undefined when it cannot say
   */
  async search(find: () => Promise<bigint | undefined>): Promise<boolean> {
    const before = this.#leastId;
    this.#leastId = await this.#searches.walk(find);
    return this.#leastId !== before;
  }

  /** A sweep has claimed these. */
  swept(claimed: readonly ClaimedRow[]): void {
    const floor = this.#leastId;
    if (floor !== undefined && claimed.some(({ id }) => BigInt(id) < floor)) this.#leastId = undefined;
  }
}
