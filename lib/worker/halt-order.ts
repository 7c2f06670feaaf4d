import { haltText } from '../coordination/ringer.js';
import type { QueueEvents } from '../events.js';
import type { QueueDatabase } from '../storage/database.js';
import type { WorkerId } from '../storage/attempt.js';

/** What a {@link HaltOrder} works with. */
export interface HaltOrderParts {
  readonly database: Pick<QueueDatabase, 'workers'>;
  readonly events: QueueEvents;
  readonly options: {
    /** True when the notification alone stops the worker, whoever sent it. */
    readonly halt: boolean;
  };
}

/**
 * Whether this worker was told to stop. Whoever may connect may send the notification; its row only those may write who
 * have the rights of a worker. So the notification makes the worker look at its row, and alone stops it only where
 * `halt` says so.
 */
export class HaltOrder {
  readonly #parts: HaltOrderParts;
  #workerId: WorkerId | undefined;
  #stop: () => void = () => undefined;
  #asking: Promise<boolean | undefined> | undefined;
  #isTold = false;

  constructor(parts: HaltOrderParts) {
    this.#parts = parts;
  }

  /** @param stop called when the worker is to stop; may be called again */
  start(workerId: WorkerId, stop: () => void): void {
    this.#workerId = workerId;
    this.#stop = stop;
  }

  /** The worker has stopped: nothing is asked any more. */
  end(): void {
    this.#workerId = undefined;
  }

  /** Another worker of this process says what has to be said. */
  silence(): void {
    this.#isTold = true;
  }

  /** The worker's row says so. */
  obey(): void {
    this.#stop();
  }

  /** The notification came. */
  rung(): void {
    if (this.#parts.options.halt) return this.obey();
    // An answer that is under way may be older than this order.
    const before = this.#asking;
    void (before ?? Promise.resolve())
      .then(() => this.#ask())
      .then((halted) => {
        if (halted === false) this.#ignore();
      });
  }

  /** Looks at the worker's row. */
  ask(): void {
    void this.#ask();
  }

  /** Undefined when the database did not answer, and is asked again at the next poll, or when the worker has stopped. */
  async #ask(): Promise<boolean | undefined> {
    const workerId = this.#workerId;
    if (workerId === undefined) return undefined;
    this.#asking ??= this.#parts.database.workers
      .isHalted(workerId)
      .catch(() => undefined)
      .finally(() => (this.#asking = undefined));
    const halted = await this.#asking;
    if (halted === true) this.obey();
    return halted;
  }

  #ignore(): void {
    if (this.#isTold || this.#workerId === undefined) return;
    this.#isTold = true;
    this.#parts.events.emit('warning', {
      message:
        `the notification ${haltText} was ignored, as will be others: it can be sent by whoever may connect. ` +
        `\`tarefa halt\` and QueueAdmin.halt() stop workers; halt: true lets the notification do so`,
    });
  }
}
