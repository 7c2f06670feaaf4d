import { haltText } from '../coordination/ring.js';
import type { QueueEvents } from '../events.js';
import type { QueueDatabase } from '../storage/database.js';
import type { WorkerId } from '../storage/attempt.js';

export interface HaltOrderParts {
  readonly database: Pick<QueueDatabase, 'workers'>;
  readonly events: QueueEvents;
  readonly options: {
    /** True when the notification alone stops the worker, from any sender. */
    readonly halt: boolean;
  };
  /** Stops the worker; may be called again. */
  readonly stop: () => void;
  /** True when another worker of this process reports ignored notifications. */
  readonly isSilent: boolean;
}

/**
 * Whether this worker was told to stop. Any role that may connect can send the notification; only roles with a worker's
 * rights can write its row. So the notification makes the worker look at its row, and stops it by itself only where
 * `halt` allows that.
 */
export class HaltOrder {
  readonly #parts: HaltOrderParts;
  readonly #workerId: WorkerId;
  #asking: Promise<boolean | undefined> | undefined;
  #hasEnded = false;
  #isTold: boolean;

  constructor(workerId: WorkerId, parts: HaltOrderParts) {
    this.#workerId = workerId;
    this.#parts = parts;
    this.#isTold = parts.isSilent;
  }

  /** The worker has stopped: nothing is asked any more. */
  end(): void {
    this.#hasEnded = true;
  }

  /** The worker's row says that it is to stop. */
  obey(): void {
    this.#parts.stop();
  }

  /** A notification asks the worker to stop. */
  notified(): void {
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
    if (this.#hasEnded) return undefined;
    this.#asking ??= this.#parts.database.workers
      .isHalted(this.#workerId)
      .catch(() => undefined)
      .finally(() => (this.#asking = undefined));
    const halted = await this.#asking;
    if (halted === true) this.obey();
    return halted;
  }

  #ignore(): void {
    if (this.#isTold || this.#hasEnded) return;
    this.#isTold = true;
    this.#parts.events.emit('warning', {
      message:
        `the notification ${haltText} was ignored, as will be others: any role that may connect can send it. ` +
        `\`tarefa halt\` and QueueAdmin.halt() stop workers; halt: true lets the notification do so`,
    });
  }
}
