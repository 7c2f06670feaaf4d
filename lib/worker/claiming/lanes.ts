import type { Lane } from '../../storage/claims.js';
import type { Demand } from './demand.js';
import { Signal } from '../../timing/signal.js';

/** With fewer slots two statements cost more than they gain: measured with a bare loop, 100 lose 4%, 250 gain 11%. */
const twoLanesFrom = 200;

/**
 * A worker with many slots keeps two statements under way, each for half of its slots: the database works on one while
 * this process runs what the other has claimed.
 */
export class Lanes {
  readonly two: boolean;
  /** Attempts that one statement settles and claims at most. */
  readonly share: number;
  /** Wakes the second lane. */
  readonly signal = new Signal();
  readonly #claiming = new Map<Lane, number>();

  constructor(concurrency: number, lanes: 'as-needed' | 'one' = 'as-needed') {
    this.two = lanes === 'as-needed' && concurrency >= twoLanesFrom;
    this.share = this.two ? Math.ceil(concurrency / 2) : concurrency;
  }

  /** Slots that statements under way may fill. */
  get underWay(): number {
    let sum = 0;
    for (const total of this.#claiming.values()) sum += total;
    return sum;
  }

  get assisting(): boolean {
    return this.#claiming.has('second');
  }

  /** What the first lane does not keep waiting is better left to it. */
  get mayAssist(): boolean {
    return this.#claiming.has('first');
  }

  /** The part of what may be claimed that one statement takes. */
  limit({ routes, total }: Demand): Demand {
    if (total <= this.share) return { routes, total };
    const most = this.share;
    return {
      routes: routes.map(({ route, limit }) => ({ route, limit: Math.min(limit, most) })),
      total: most,
    };
  }

  begin(lane: Lane, total: number): void {
    this.#claiming.set(lane, total);
    if (lane === 'first') this.signal.set();
  }

  end(lane: Lane): void {
    this.#claiming.delete(lane);
  }
}
