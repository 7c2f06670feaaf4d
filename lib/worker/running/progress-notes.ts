import type { QueueEvents } from '../../events.js';
import type { Claim, WorkerId } from '../../storage/attempt.js';
import type { QueueDatabase } from '../../storage/database.js';
import { failureMessage } from '../../values/failure-text.js';

/** Between two writes of a worker: handlers may say as much as they like. */
const pauseMs = 1_000;

/** A running attempt, as its context tells of it. */
export interface NotedAttempt {
  readonly claimed: Claim;
  /** True when it is over for its handler. */
  readonly ended: boolean;
}

/**
 * Writes what handlers say of their progress into the rows of their attempts, the last word of each, outside of their transactions.
 * The end of an attempt writes a message of its own, after which none of these is written any more.
 */
export class ProgressNotes {
  readonly #workerId: WorkerId;
  readonly #database: Pick<QueueDatabase, 'attempts'>;
  readonly #events: QueueEvents;
  readonly #words = new Map<NotedAttempt, string>();
  /** From the first word until a second after the last write. */
  #isTimed = false;
  #isWarned = false;

  constructor(workerId: WorkerId, database: Pick<QueueDatabase, 'attempts'>, events: QueueEvents) {
    this.#workerId = workerId;
    this.#database = database;
    this.#events = events;
  }

  add(attempt: NotedAttempt, message: string): void {
    if (attempt.ended) return;
    this.#words.set(attempt, message);
    if (!this.#isTimed) this.#writeIn(0);
  }

  #writeIn(ms: number): void {
    this.#isTimed = true;
    setTimeout(() => void this.#write(), ms).unref();
  }

  async #write(): Promise<void> {
    const words = [...this.#words].filter(([{ ended }]) => !ended);
    this.#words.clear();
    if (words.length === 0) {
      this.#isTimed = false;
      return;
    }
    const notes = words.map(([{ claimed }, message]) => ({
      id: claimed.id,
      reservation: claimed.reservation,
      message,
    }));
    try {
      await this.#database.attempts.noteProgress(this.#workerId, notes);
      this.#isWarned = false;
    } catch (error) {
      if (!this.#isWarned) this.#warn(error);
      this.#isWarned = true;
    }
    this.#writeIn(pauseMs);
  }

  #warn(error: unknown): void {
    const message = `the progress of handlers could not be saved: ${failureMessage(error)}. They keep running, and later progress will still be saved`;
    this.#events.emit('warning', { message });
  }
}
