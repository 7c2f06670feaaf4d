import { hasCode } from '../../errors.js';
import type { QueueEvents, TaskReference } from '../../events.js';
import { plainRoute, subscriptionRoute, topicRoute } from '../../storage/route.js';
import type { Route } from '../../storage/attempt.js';

/** What ended on a route since it was last asked for. */
export interface RouteTally {
  readonly route: Route;
  succeeded: number;
  failed: number;
  buried: number;
  delivered: number;
  /** Work without a receiver: attempts that failed for want of a handler, and publications without a subscription. */
  unhandled: number;
  /** Some of the attempts that ended, each as likely as the others: their times stand in the table. */
  readonly sample: string[];
}

/** Attempts of a route that are measured by one statement. */
const sampleSize = 40;
/** Routes that are told apart; the others count together. */
const mostRoutes = 50;

/** The route of all those that are too many to be told apart. */
export const restRoute: Route = '*';

/** Counts what ends in this process. It costs an attempt next to nothing: no event, no clock, no statement. */
export class OutcomeTally {
  #routes = new Map<Route, RouteTally>();

  /** Counts what events tell anyway. */
  listen(events: QueueEvents): void {
    events.on('task.failed', ({ task, error }) => {
      const tally = this.#of(routeOf(task));
      if (hasCode(error, 'HANDLER_NOT_REGISTERED')) tally.unhandled += 1;
      tally.failed += 1;
      keepSample(tally, task.id);
    });
    events.on('task.recovered', ({ task }) => {
      this.#of(routeOf(task)).failed += 1;
    });
    events.on('task.buried', ({ task }) => {
      this.#of(routeOf(task)).buried += 1;
    });
    events.on('publication.delivered', ({ task }) => {
      this.#of(routeOf(task)).delivered += 1;
    });
    events.on('publication.discarded', ({ task }) => {
      this.#of(routeOf(task)).unhandled += 1;
    });
  }

  /** An attempt has succeeded. */
  completed(route: Route, id: string): void {
    const tally = this.#of(plainRoute(route));
    tally.succeeded += 1;
    keepSample(tally, id);
  }

  /** What has ended since it was last taken. */
  take(): readonly RouteTally[] {
    const taken = [...this.#routes.values()];
    this.#routes = new Map();
    return taken;
  }

  /** What could not be written is counted with what ends from now on. */
  putBack(taken: readonly RouteTally[]): void {
    for (const one of taken) {
      const tally = this.#of(one.route);
      tally.succeeded += one.succeeded;
      tally.failed += one.failed;
      tally.buried += one.buried;
      tally.delivered += one.delivered;
      tally.unhandled += one.unhandled;
      tally.sample.push(...one.sample.slice(0, sampleSize - tally.sample.length));
    }
  }

  #of(route: Route): RouteTally {
    const known = this.#routes.get(route);
    if (known) return known;
    if (this.#routes.size >= mostRoutes && route !== restRoute) return this.#of(restRoute);
    const tally = { route, succeeded: 0, failed: 0, buried: 0, delivered: 0, unhandled: 0, sample: [] };
    this.#routes.set(route, tally);
    return tally;
  }
}

/** Keeps it instead of another one, as often as makes each of them equally likely. */
function keepSample({ sample, succeeded, failed }: RouteTally, id: string): void {
  if (sample.length < sampleSize) {
    sample.push(id);
    return;
  }
  const place = Math.floor(Math.random() * (succeeded + failed));
  if (place < sampleSize) sample[place] = id;
}

function routeOf({ topic, subscriptionId }: TaskReference): Route {
  return subscriptionId === null ? topicRoute(topic) : subscriptionRoute(subscriptionId);
}
