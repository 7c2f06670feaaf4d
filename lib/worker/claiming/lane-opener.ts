import { Backoff } from '../../timing/backoff.js';
import type { Lane } from '../../storage/claims.js';
import type { QueueDatabase } from '../../storage/database.js';

/** What a {@link LaneOpener} works with. */
export interface LaneOpenerParts {
  readonly database: Pick<QueueDatabase, 'claims'>;
  readonly lane: Lane;
  /** Told when it is worth asking again. */
  readonly changed: () => void;
}

/**
 * Opens what a lane sends its statements through beside the work of the others: no slot and no outcome waits for a
 * connection that a busy process or a slow server is in no hurry to open.
 */
export class LaneOpener {
  readonly #parts: LaneOpenerParts;
  readonly #backoff = new Backoff({ firstMs: 50, mostMs: 2_000 });
  #opening = false;

  constructor(parts: LaneOpenerParts) {
    this.#parts = parts;
  }

  /** True when the lane can send at once; otherwise it is being opened from now on. */
  isOpen(): boolean {
    if (this.#opening) return false;
    const opening = this.#parts.database.claims.laneOpening(this.#parts.lane);
    if (!opening) return true;
    this.#opening = true;
    void this.#wait(opening);
    return false;
  }

  /** Nothing is tried again after a pause: for shutdown. */
  stop(): void {
    this.#backoff.cancel();
  }

  async #wait(opening: Promise<void>): Promise<void> {
    try {
      await opening;
      this.#backoff.reset();
    } catch {
      // The connection itself says that it could not be opened.
      await this.#backoff.wait();
    }
    this.#opening = false;
    this.#parts.changed();
  }
}
