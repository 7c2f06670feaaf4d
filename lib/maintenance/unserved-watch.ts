import { Alarm } from '../timing/signal.js';
import { WalkPace } from '../timing/walk-pace.js';
import type { QueueEvents } from '../events.js';
import { namesOfRoute } from '../storage/route.js';
import type { Route } from '../storage/attempt.js';
import type { QueueDatabase } from '../storage/database.js';
import { unservedMs, type WaitingRoute } from '../storage/waiting-route.js';
import type { WorkerOptions } from '../options/worker-options.js';

/** From a ring to the look: what it rang for has waited long enough by then to be told of. */
const lookAfterMs = unservedMs + 5_000;
/** From one look to the next, however many rings come between them. */
const leastMs = 60_000;
/** A route that is still unserved is told of again after that. */
const tellAgainMs = 10 * 60_000;

/**
 * Tells of topics and subscriptions whose tasks wait while no running worker serves them. It looks a moment after a ring that
 * names no route of this worker, at most once a minute, and again for what it found: what had not waited for long enough, and what
 * may have to be told again. Where nothing waits unserved nothing is asked: an idle worker stays idle.
 *
 * Beside workers of nsj-queue-lib nothing is told: they take every topic and register nowhere.
 */
export class UnservedWatch {
  readonly #database: QueueDatabase;
  readonly #events: QueueEvents;
  readonly #options: Pick<WorkerOptions, 'interop'>;
  readonly #pace = new WalkPace(leastMs);
  readonly #toldAt = new Map<Route, number>();
  readonly #alarm = new Alarm(() => void this.#look());
  #started = false;

  constructor(database: QueueDatabase, events: QueueEvents, options: Pick<WorkerOptions, 'interop'>) {
    this.#database = database;
    this.#events = events;
    this.#options = options;
  }

  start(): void {
    this.#started = this.#options.interop === undefined;
    this.expect();
  }

  stop(): void {
    this.#started = false;
    this.#alarm.clear();
  }

  /** Something was inserted, perhaps on a route without a worker. */
  expect(): void {
    this.#lookIn(lookAfterMs);
  }

  /** Tells what is new in what was found waiting, and looks again when there will be more to tell of it. */
  learn(waiting: readonly WaitingRoute[]): void {
    if (this.#options.interop !== undefined) return;
    const unserved = waiting.filter((one) => !one.served);
    this.#tell(unserved.filter((one) => one.waitingMs >= unservedMs));
    const now = performance.now();
    for (const { route, waitingMs } of unserved) {
      const toldAt = this.#toldAt.get(route);
      this.#lookIn(toldAt === undefined ? unservedMs - waitingMs : toldAt + tellAgainMs - now);
    }
  }

  #tell(unserved: readonly WaitingRoute[]): void {
    const now = performance.now();
    const routes = new Set(unserved.map(({ route }) => route));
    for (const route of this.#toldAt.keys()) if (!routes.has(route)) this.#toldAt.delete(route);
    for (const { route, waitingMs } of unserved) {
      if (now - (this.#toldAt.get(route) ?? -Infinity) < tellAgainMs) continue;
      this.#toldAt.set(route, now);
      this.#events.emit('tasks.unserved', { ...namesOfRoute(route), waitingMs: Math.round(waitingMs) });
    }
  }

  /** At most once a minute. */
  #lookIn(ms: number): void {
    if (this.#started) this.#alarm.setEarlier(Math.max(ms, this.#pace.dueInMs));
  }

  async #look(): Promise<void> {
    try {
      this.learn(await this.#pace.walk(() => this.#database.attempts.waitingRoutes()));
    } catch {
      // Whatever is wrong with the database, the worker's own statements meet it too, and say so.
      this.expect();
    }
  }
}
