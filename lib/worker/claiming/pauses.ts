import { plainRoute } from '../../storage/route.js';
import type { Route } from '../../storage/attempt.js';

/** A route whose tasks wait, for so many ms or, when undefined, until somebody says otherwise. */
export interface Hold {
  readonly route: Route;
  readonly forMs: number | undefined;
}

/** What {@link Pauses} work with. */
export interface PausesParts {
  readonly read: () => Promise<readonly Hold[]>;
  /** Asked to come back in so many ms. */
  readonly later: (ms: number) => void;
}

/** The routes whose tasks wait: somebody has paused them, or their endpoint needs a rest. */
export class Pauses {
  readonly #parts: PausesParts;
  #routes: ReadonlySet<Route> = new Set();
  #isStale = true;
  /** When the first of them is over, by `performance.now()`. */
  #overAt = Infinity;

  constructor(parts: PausesParts) {
    this.#parts = parts;
  }

  /** Somebody has paused or resumed something, or may have. */
  doubt(): void {
    this.#isStale = true;
  }

  /** Reads them again, when they may have changed. */
  async refresh(): Promise<void> {
    const leftMs = this.#overAt - performance.now();
    if (!this.#isStale && leftMs > 0) {
      // A timer of Node may come some ms early.
      if (leftMs < Infinity) this.#parts.later(leftMs);
      return;
    }
    this.#isStale = false;
    try {
      const holds = await this.#parts.read();
      this.#routes = new Set(holds.map(({ route }) => route));
      const firstMs = Math.min(...holds.map(({ forMs = Infinity }) => forMs));
      this.#overAt = performance.now() + firstMs;
      if (firstMs < Infinity) this.#parts.later(Math.max(1, firstMs));
    } catch (error) {
      this.#isStale = true;
      throw error;
    }
  }

  /** Those, and others that are left out of a claim. */
  with(others: ReadonlySet<Route>): ReadonlySet<Route> {
    if (this.#routes.size === 0) return others;
    return others.size === 0 ? this.#routes : new Set([...this.#routes, ...others]);
  }

  has(route: Route): boolean {
    return this.#routes.has(plainRoute(route));
  }
}
