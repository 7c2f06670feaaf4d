import { WalkPace } from '../timing/walk-pace.js';
import type { QueueEvents } from '../events.js';
import { namesOfRoute } from '../storage/route.js';
import type { Route } from '../storage/attempt.js';
import type { QueueDatabase } from '../storage/database.js';
import { unservedMs, type WaitingRoute } from '../storage/waiting-route.js';
import type { WorkerOptions } from '../options/worker-options.js';

export interface UnservedWatchParts {
  readonly database: QueueDatabase;
  readonly events: QueueEvents;
  readonly options: Pick<WorkerOptions, 'interop'>;
}

/** From a ring to the look: what it rang for has waited long enough by then to be told of. */
const lookAfterMs = unservedMs + 5_000;
/** From one look to the next, however many rings come between them. */
const leastMs = 60_000;
/** A route that is still unserved is told of again after that. */
const tellAgainMs = 10 * 60_000;

/**
 * Tells of topics and subscriptions whose tasks wait while no running worker serves them. It looks a moment after
 * a ring, at most once a minute, and never where nothing happens: an idle worker stays idle.
 *
 * Beside workers of nsj-queue-lib nothing is told: they take every topic and register nowhere.
 */
export class UnservedWatch {
  readonly #parts: UnservedWatchParts;
  readonly #pace = new WalkPace(leastMs);
  readonly #toldAt = new Map<Route, number>();
  #timer: NodeJS.Timeout | undefined;
  #started = false;

  constructor(parts: UnservedWatchParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#started = this.#parts.options.interop === undefined;
    this.expect();
  }

  stop(): void {
    this.#started = false;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Something was inserted, perhaps on a route without a worker. */
  expect(): void {
    if (!this.#started || this.#timer) return;
    this.#timer = setTimeout(() => void this.#look(), Math.max(lookAfterMs, this.#pace.dueInMs)).unref();
  }

  /** Tells what is new in what was found waiting. */
  learn(waiting: readonly WaitingRoute[]): void {
    if (this.#parts.options.interop !== undefined) return;
    const now = performance.now();
    const unserved = waiting.filter((one) => !one.served && one.waitingMs >= unservedMs);
    const routes = new Set(unserved.map(({ route }) => route));
    for (const route of this.#toldAt.keys()) if (!routes.has(route)) this.#toldAt.delete(route);
    for (const { route, waitingMs } of unserved) {
      if (now - (this.#toldAt.get(route) ?? -Infinity) < tellAgainMs) continue;
      this.#toldAt.set(route, now);
      this.#parts.events.emit('tasks.unserved', { ...namesOfRoute(route), waitingMs: Math.round(waitingMs) });
    }
  }

  async #look(): Promise<void> {
    this.#timer = undefined;
    try {
      this.learn(await this.#pace.walk(() => this.#parts.database.attempts.waitingRoutes()));
    } catch {
      // Whatever is wrong with the database, the worker's own statements meet it too, and say so. The next ring asks again.
    }
  }
}
