import type { ClaimedTask } from '../../storage/attempt.js';
import { plainRoute } from '../../storage/route.js';
import type { Handler } from '../../subscribers/handler-registry.js';
import type { WorkerOptions } from '../../options/worker-options.js';
import type { ServedRoutes } from './served-routes.js';

/** Counts running attempts: no more than there are slots, and of no handler more than its own limit. */
export class Capacity {
  readonly #served: Pick<ServedRoutes, 'handlerOf'>;
  readonly #options: Pick<WorkerOptions, 'concurrency'>;
  readonly #running = new Map<Handler, number>();
  #taken = 0;

  constructor(served: Pick<ServedRoutes, 'handlerOf'>, options: Pick<WorkerOptions, 'concurrency'>) {
    this.#served = served;
    this.#options = options;
  }

  /**
   * Slots that are free.
   *
   * @param held rows that are held beside those that run
   */
  free(held: number): number {
    return this.#options.concurrency - this.#taken - held;
  }

  /** What a handler has left of its own limit. */
  freeOf(handler: Handler | undefined): number {
    const most = handler?.rules.concurrency;
    return handler === undefined || most === undefined ? Infinity : most - (this.#running.get(handler) ?? 0);
  }

  start({ route }: ClaimedTask): void {
    this.#taken += 1;
    const handler = this.#served.handlerOf(plainRoute(route));
    if (handler) this.#running.set(handler, (this.#running.get(handler) ?? 0) + 1);
  }

  /** Answers the handler when it was at its own limit, so that claims have left its other tasks out. */
  end({ route }: ClaimedTask): Handler | undefined {
    this.#taken -= 1;
    const handler = this.#served.handlerOf(plainRoute(route));
    if (!handler) return undefined;
    const running = this.#running.get(handler) ?? 0;
    this.#running.set(handler, running - 1);
    return running >= (handler.rules.concurrency ?? Infinity) ? handler : undefined;
  }
}
