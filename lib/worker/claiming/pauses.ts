import { plainRoute } from '../../storage/route.js';
import type { Route } from '../../storage/attempt.js';
import type { QueueDatabase } from '../../storage/database.js';
import type { PausedRoute } from '../../storage/endpoints.js';
import type { Agenda } from '../agenda.js';

/** The routes whose tasks wait: they were paused, or their endpoint needs a rest. */
export class Pauses {
  readonly #read: () => Promise<readonly PausedRoute[]>;
  readonly #agenda: Pick<Agenda, 'lookIn'>;
  routes: ReadonlySet<Route> = new Set();
  /** When they are to be read again, by `performance.now()`: when the first of them is over, or at once. */
  staleAt = -Infinity;

  constructor(read: () => Promise<readonly PausedRoute[]>, agenda: Pick<Agenda, 'lookIn'>) {
    this.#read = read;
    this.#agenda = agenda;
  }

  /** A route may have been paused or resumed. */
  invalidate(): void {
    this.staleAt = -Infinity;
  }

  /**
   * Reads them again, when they may have changed. Returns whether one of them waits no longer: claims have passed by its tasks,
   * which no ring announces.
   */
  async refresh(): Promise<boolean> {
    const leftMs = this.staleAt - performance.now();
    if (leftMs > 0) {
      // A timer of Node may come some ms early.
      if (leftMs < Infinity) this.#agenda.lookIn(leftMs);
      return false;
    }
    this.staleAt = Infinity;
    try {
      const paused = await this.#read();
      const before = this.routes;
      this.routes = new Set(paused.map(({ route }) => route));
      const firstMs = Math.min(...paused.map(({ forMs = Infinity }) => forMs));
      // Unless they may have changed again while they were read.
      if (this.staleAt === Infinity) this.staleAt = performance.now() + firstMs;
      if (firstMs < Infinity) this.#agenda.lookIn(Math.max(1, firstMs));
      return [...before].some((route) => !this.routes.has(route));
    } catch (error) {
      this.staleAt = -Infinity;
      throw error;
    }
  }

  /** These, and others that are left out of a claim. */
  with(others: ReadonlySet<Route>): ReadonlySet<Route> {
    return others.size === 0 ? this.routes : new Set([...this.routes, ...others]);
  }

  has(route: Route): boolean {
    return this.routes.has(plainRoute(route));
  }
}

/** The routes that were paused. */
export async function readPaused(database: Pick<QueueDatabase, 'attempts'>): Promise<readonly PausedRoute[]> {
  return (await database.attempts.pausedRoutes()).map((route) => ({ route, forMs: undefined }));
}
