import type { Coordinator } from '../coordination/coordinator.js';
import type { Storage } from '../storage/storage.js';

/** What an {@link Isolation} works with. */
export interface IsolationParts {
  readonly storage: Storage;
  readonly coordinator: Coordinator;
  /** Told that it is this worker's turn, or no longer. */
  readonly changed: () => void;
}

/** A worker waits so long for its other attempts to end, before it leaves the turn to another worker. */
const patienceMs = 30_000;

/**
 * Attempts that may be what kills workers are run alone: one worker of the fleet at a time stops claiming others,
 * waits until nothing runs any more, and takes them one by one. So a task that kills its process drags no neighbour
 * along, and its fleet is one worker short at most.
 */
export class Isolation {
  readonly #parts: IsolationParts;
  #taking = false;
  #end: (() => void) | undefined;
  #patience: NodeJS.Timeout | undefined;

  constructor(parts: IsolationParts) {
    this.#parts = parts;
  }

  /** True while this worker claims isolated attempts only, and only when it runs nothing. */
  get active(): boolean {
    return this.#end !== undefined;
  }

  /** Asks for the turn, unless it is held or asked for. A turn that cannot be had is asked for at the next look. */
  request(): void {
    if (this.#taking) return;
    this.#taking = true;
    void this.#parts.coordinator
      .exclusively('isolate', () => this.#hold())
      .catch(() => undefined)
      .finally(() => (this.#taking = false));
  }

  /** One was claimed: it may take as long as it takes. */
  claimed(): void {
    clearTimeout(this.#patience);
  }

  /** None is left, or the worker stops. Idempotent. */
  end(): void {
    this.#end?.();
  }

  async #hold(): Promise<void> {
    // Whoever had the turn before may have run the last one: nobody drains a worker for nothing.
    const { isolated } = await this.#parts.storage.promote(0);
    if (!isolated) return;
    await new Promise<void>((resolve) => {
      this.#end = resolve;
      this.#patience = setTimeout(resolve, patienceMs);
      this.#parts.changed();
    });
    clearTimeout(this.#patience);
    this.#end = undefined;
    this.#parts.changed();
  }
}
