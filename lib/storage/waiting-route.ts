import type { Route } from './attempt.js';

/** Routes between two others, in the order of their bytes. */
export interface RouteRange {
  readonly from: Route;
  /** The first one that is not among them. */
  readonly below: Route;
}

/** A route with pending attempts, and where the best one of them has its place in the order of pick-up. */
export interface RouteHead {
  readonly route: Route;
  readonly priority: number;
  /** Ms since 1970; `-Infinity` for all times before. */
  readonly dueMs: number;
}

/** At most so many routes are told to an idle worker at once. */
export const unknownAtOnce = 1_000;

/** What a worker asks of an idle queue: what it would take, were it there. */
export interface AwaitedRoutes {
  /** Where it takes the live attempts of every route, isolated ones included. */
  readonly ranges: readonly RouteRange[];
  /** Routes whose dead attempts it takes. */
  readonly deadRoutes: readonly Route[];
  /** Where it finds out which routes are its own: of those that have pending attempts some are told. */
  readonly unknown: readonly RouteRange[];
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
