import type { QueueEvents } from '../events.js';
import type { WorkerId } from '../storage/attempt.js';

/** Whether the statements of a worker fail: an outage is reported once, and its end once. */
export class Trouble {
  readonly #workerId: WorkerId;
  readonly #events: QueueEvents;
  /** True from a failed statement until the next good one. */
  #isReported = false;

  constructor(workerId: WorkerId, events: QueueEvents) {
    this.#workerId = workerId;
    this.#events = events;
  }

  /** A statement failed. */
  report(error: unknown): void {
    if (this.#isReported) return;
    this.#isReported = true;
    this.#events.emit('worker.troubled', { workerId: this.#workerId, error });
  }

  /** Everything went well. */
  end(): void {
    if (!this.#isReported) return;
    this.#isReported = false;
    this.#events.emit('worker.recovered', { workerId: this.#workerId });
  }
}
