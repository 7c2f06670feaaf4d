import type { Histogram } from '../values/histogram.js';
import type { Route } from './attempt.js';

/** What ended, and how long it took, in ms; durations are null where nothing was measured. */
export interface HistoryCounts {
  readonly succeeded: number;
  /** Attempts that failed. */
  readonly failed: number;
  /** Tasks that ran out of attempts. */
  readonly buried: number;
  /** Publications. */
  readonly delivered: number;
  /** Attempts that failed because no handler was there, and publications without a subscription. */
  readonly unhandled: number;
  readonly wait: { readonly p50: number | null; readonly p95: number | null; readonly p99: number | null };
  readonly run: { readonly p50: number | null; readonly p95: number | null };
}

/** A stretch of time. */
export interface HistoryPoint extends HistoryCounts {
  readonly at: Date;
  /** How long the oldest pending task had waited at most, in ms; null where no process looked. */
  readonly lagMs: number | null;
}

/** A topic or subscription over the whole range. */
export interface RouteHistory extends HistoryCounts {
  /** Or `*`: all those that are too many to be told apart. */
  readonly route: Route;
  /** Attempts that ended, by stretch. */
  readonly ended: readonly number[];
}

/** The past hour or day. */
export interface History {
  readonly stepMs: number;
  readonly points: readonly HistoryPoint[];
  /** The busiest first. */
  readonly routes: readonly RouteHistory[];
}

/** What to read. */
export interface HistoryRequest {
  readonly range: 'hour' | 'day';
  /** Default: all. */
  readonly route?: Route | undefined;
}

/** What ended on a route in one process, to be added to the history. */
export interface EndedOnRoute {
  readonly route: Route;
  readonly succeeded: number;
  readonly failed: number;
  readonly buried: number;
  readonly delivered: number;
  readonly unhandled: number;
  readonly waits: Histogram;
  readonly runs: Histogram;
}

/** Durations of one attempt. */
export interface MeasuredAttempt {
  readonly waitMs: number;
  readonly runMs: number;
}
