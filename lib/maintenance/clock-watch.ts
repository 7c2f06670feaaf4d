import type { QueueEvents } from '../events.js';

/** Less than that is how long answers take, and how clocks are corrected. */
const leastMs = 60_000;

/**
 * Notices that the database's clock was set back, which nothing else shows: leases and rests are bounded, but tasks that were
 * scheduled or due by the old clock wait until the new one has reached their times, which are the user's.
 */
export class ClockWatch {
  readonly #events: Pick<QueueEvents, 'emit'>;
  readonly #now: () => number;
  /** The database's clock without this process's, in ms. */
  #offsetMs: number | undefined;

  /** @param now a clock in ms that never goes back */
  constructor(events: Pick<QueueEvents, 'emit'>, now: () => number = () => performance.now()) {
    this.#events = events;
    this.#now = now;
  }

  /** @param atMs what the database's clock says now */
  learn(atMs: number): void {
    const before = this.#offsetMs;
    this.#offsetMs = atMs - this.#now();
    const backMs = before === undefined ? 0 : before - this.#offsetMs;
    if (backMs < leastMs) return;
    this.#events.emit('warning', {
      message:
        `The database's clock was set back by ${Math.round(backMs / 1_000)} s. Tasks that were inserted or scheduled before ` +
        `may start that much later than they should. Check how the server's time is kept`,
    });
  }
}
