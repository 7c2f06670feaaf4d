import type { QueueEvents } from '../events.js';

/** Fuller than that somebody keeps it from being emptied. */
const fullFrom = 0.5;
/** It is said again after that. */
const againMs = 10 * 60_000;

/** Tells that PostgreSQL's queue of notifications fills up, before inserts and commits are refused for it. */
export class NotifyWatch {
  readonly #events: Pick<QueueEvents, 'emit'>;
  readonly #now: () => number;
  #saidAt = -Infinity;

  /** @param now a clock in ms that never goes back */
  constructor(events: Pick<QueueEvents, 'emit'>, now: () => number = () => performance.now()) {
    this.#events = events;
    this.#now = now;
  }

  /** @param usage from 0 to 1; undefined where there is no such queue */
  learn(usage: number | undefined): void {
    if (usage === undefined || usage < fullFrom || this.#now() - this.#saidAt < againMs) return;
    this.#saidAt = this.#now();
    this.#events.emit('warning', {
      message:
        `PostgreSQL's queue of notifications is ${Math.round(usage * 100)}% full: a listening session keeps a transaction ` +
        `open. Once it is full, commits that notify fail (54000). End that session: pg_stat_activity shows it, with an old xact_start`,
    });
  }
}
