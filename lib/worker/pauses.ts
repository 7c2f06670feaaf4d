import { plainRoute } from '../storage/route.js';
import type { Route, Storage } from '../storage/storage.js';

/** The routes whose tasks wait because somebody has paused them. */
export class Pauses {
  readonly #storage: Storage;
  #routes: ReadonlySet<Route> = new Set();
  #isStale = true;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** Somebody has paused or resumed something, or may have. */
  doubt(): void {
    this.#isStale = true;
  }

  /** Reads them again, when they may have changed. */
  async refresh(): Promise<void> {
    if (!this.#isStale) return;
    this.#isStale = false;
    try {
      this.#routes = new Set(await this.#storage.pausedRoutes());
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
