import type { QueueEvents } from '../events.js';
import type { WorkerId } from '../storage/attempt.js';

/** Whether the statements of a worker fail: an outage is reported once, and its end once. */
export class Trouble {
  readonly #workerId: WorkerId;
  readonly #events: QueueEvents;
  /** What failed last, until everything goes well again. */
  error: unknown;
  /** True from a reported failure until the next good statement. */
  #isReported = false;

  constructor(workerId: WorkerId, events: QueueEvents) {
    this.#workerId = workerId;
    this.#events = events;
  }

  /**
   * A statement failed.
   *
   * @param isLost true when its connection is gone, which has an event of its own
   */
  report(error: unknown, isLost: boolean): void {
    this.error = error;
    if (this.#isReported || isLost) return;
    this.#isReported = true;
    this.#events.emit('worker.troubled', { workerId: this.#workerId, error });
  }

  /** Everything went well. */
  end(): void {
    this.error = undefined;
    if (!this.#isReported) return;
    this.#isReported = false;
    this.#events.emit('worker.recovered', { workerId: this.#workerId });
  }
}
