import type { Storage } from '../storage/storage.js';
import type { DemandBook } from './demand.js';

/** What a {@link Discovery} works with. */
export interface DiscoveryParts {
  readonly storage: Storage;
  readonly demand: DemandBook;
  /** Told of routes that were found. */
  readonly found: () => void;
  /** Asked to come back in so many ms. */
  readonly later: (ms: number) => void;
}

/** Unknown routes are looked for at most so often. */
const pauseMs = 100;
/** A worker that always finds something looks for routes that nobody serves all the same, so often. */
const atLeastMs = 5_000;

/** Finds routes without a handler of their own that somebody may have rung for. */
export class Discovery {
  readonly #parts: DiscoveryParts;
  #due = false;
  #lastAt = -Infinity;

  constructor(parts: DiscoveryParts) {
    this.#parts = parts;
  }

  request(): void {
    this.#due = true;
  }

  /** True when a claim before it would take tasks out of turn, or keep it waiting for too long. */
  get comesFirst(): boolean {
    return this.#due && (this.#parts.demand.takesAnyTopic || performance.now() - this.#lastAt > atLeastMs);
  }

  /** Looks, when it was asked to. */
  async run(): Promise<void> {
    if (!this.#due) return;
    this.#due = false;
    const { demand, storage, found, later } = this.#parts;
    if (!demand.mustDiscover) return;
    const pause = this.#lastAt + pauseMs - performance.now();
    if (pause > 0) return later(pause);
    this.#lastAt = performance.now();
    const pending = await storage.pendingRoutes();
    await demand.learn(pending);
    if (demand.discover(pending)) found();
  }
}
