import type { Route } from './attempt.js';

/** What a worker asks of an idle queue: what it would take, were it there. */
export interface ServedRoutes {
  /** Routes whose live attempts it takes, isolated ones included. */
  readonly routes: readonly Route[];
  /** Routes whose dead attempts it takes. */
  readonly deadRoutes: readonly Route[];
  /** True when it finds out which routes are its own: then it is told which have pending attempts. */
  readonly discovers: boolean;
}

/** A route whose pending attempts are due. */
export interface WaitingRoute {
  readonly route: Route;
  /** How long the one has waited that is due for longest. */
  readonly waitingMs: number;
  /** True when a running worker has said that it serves the route. */
  readonly served: boolean;
  /** True when no worker runs at all. */
  readonly workerless: boolean;
}

/** How long tasks may wait before their route counts as unserved. */
export const unservedMs = 15_000;
