import { RollingPercentiles } from './rolling-percentiles.js';

/** The window of latencies that the contract asks for. */
export const windowSeconds = 30;

/** What one adapter process has done so far: written by its producer and its handlers, read by its sampler. */
export class Progress {
  enqueued = 0;
  completed = 0;
  /** As the database told last. */
  depth = 0;
  /** From the insert to the handler's start. */
  readonly claims = new RollingPercentiles(windowSeconds);
  /** From the insert to the handler's end. */
  readonly wholes = new RollingPercentiles(windowSeconds);
}
