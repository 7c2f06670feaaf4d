import { haltText } from '../coordination/ring.js';
import type { QueueEvents } from '../events.js';
import type { QueueDatabase } from '../storage/database.js';
import type { WorkerId } from '../storage/attempt.js';

/** What the worker's row says. */
type Order = 'stop' | 'none';

export interface HaltOrderParts {
  readonly database: Pick<QueueDatabase, 'workers'>;
  readonly events: QueueEvents;
  readonly options: {
    /** True when the notification alone stops the worker, from any sender. */
    readonly halt: boolean;
  };
  /** Stops the worker; may be called again. */
  readonly stop: () => void;
  /** Writes the worker's row again, which was deleted. */
  readonly restore: () => Promise<void>;
  /** True when another worker of this process reports ignored notifications. */
  readonly isSilent: boolean;
}

/**
 * Whether this worker was told to stop, by its row, which is written again when it is gone. Any role that may connect can send the notification; only roles with a worker's
 * rights can write its row. So the notification makes the worker look at its row, and stops it directly only where
 * `halt` allows that.
 */
export class HaltOrder {
  readonly #parts: HaltOrderParts;
  readonly #workerId: WorkerId;
  #asking: Promise<Order | undefined> | undefined;
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
      .then((order) => {
        if (order === 'none') this.#ignore();
      });
  }

  /** Looks at the worker's row. */
  ask(): void {
    void this.#ask();
  }

  /** Undefined when the database did not answer, and is asked again at the next poll, or when the worker has stopped. */
  async #ask(): Promise<Order | undefined> {
    if (this.#hasEnded) return undefined;
    this.#asking ??= this.#read()
      .catch(() => undefined)
      .finally(() => (this.#asking = undefined));
    const order = await this.#asking;
    if (order === 'stop') this.obey();
    return order;
  }

  async #read(): Promise<Order> {
    const { database, restore } = this.#parts;
    const halted = await database.workers.isHalted(this.#workerId);
    if (halted === undefined && !this.#hasEnded) await restore();
    return halted === true ? 'stop' : 'none';
  }

  #ignore(): void {
    if (this.#isTold || this.#hasEnded) return;
    this.#isTold = true;
    this.#parts.events.emit('warning', {
      message:
        `the notification ${haltText} was ignored, as later ones will be: any role that may connect can send it. ` +
        `\`tarefa halt\` and QueueAdmin.halt() stop workers; halt: true lets the notification do so`,
    });
  }
}
