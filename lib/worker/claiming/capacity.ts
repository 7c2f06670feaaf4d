import type { ClaimedTask } from '../../storage/attempt.js';
import { plainRoute } from '../../storage/route.js';
import type { Limit } from '../../subscribers/handler-registry.js';
import type { WorkerOptions } from '../../options/worker-options.js';
import type { ServedRoutes } from './served-routes.js';

/** Counts running attempts: no more than there are slots, and of no handler more than its own limit, or the one that it shares. */
export class Capacity {
  readonly #served: Pick<ServedRoutes, 'limitOf'>;
  readonly #options: Pick<WorkerOptions, 'concurrency'>;
  readonly #running = new Map<Limit, number>();
  #taken = 0;
  /** True while nothing is to be claimed. */
  isPaused = false;

  constructor(served: Pick<ServedRoutes, 'limitOf'>, options: Pick<WorkerOptions, 'concurrency'>) {
    this.#served = served;
    this.#options = options;
  }

  /**
   * Slots that may be filled.
   *
   * @param held rows that are held beside those that run
   */
  free(held: number): number {
    return this.isPaused ? 0 : this.#options.concurrency - this.#taken - held;
  }

  /** What is left of a limit. */
  freeOf(limit: Limit | undefined): number {
    const most = limit?.concurrency;
    return limit === undefined || most === undefined ? Infinity : most - (this.#running.get(limit) ?? 0);
  }

  start({ route }: ClaimedTask): void {
    this.#taken += 1;
    const limit = this.#served.limitOf(plainRoute(route));
    if (limit) this.#running.set(limit, (this.#running.get(limit) ?? 0) + 1);
  }

  /** Answers the limit that was reached, so that claims have left its other tasks out. */
  end({ route }: ClaimedTask): Limit | undefined {
    this.#taken -= 1;
    const limit = this.#served.limitOf(plainRoute(route));
    if (!limit) return undefined;
    const running = this.#running.get(limit) ?? 0;
    this.#running.set(limit, running - 1);
    return running >= (limit.concurrency ?? Infinity) ? limit : undefined;
  }
}
