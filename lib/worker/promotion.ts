import type { Bell } from '../coordination/bell.js';
import type { QueueEvents } from '../events.js';
import type { PromoteResult } from '../storage/attempt.js';
import type { QueueDatabase } from '../storage/database.js';
import type { WorkerOptions } from '../options/worker-options.js';

/** What a promotion leaves to do. */
export interface Promoted extends Pick<PromoteResult, 'earliestMs' | 'isolated' | 'nextDueInMs'> {
  /** True when more may be due. */
  readonly isFullPage: boolean;
}

/** Scheduled tasks promoted by one statement. */
const pageSize = 1_000;

/**
 * Makes due scheduled tasks pending, and rings for them. Where the notify routine does so at its minutes, it only
 * looks for attempts that are to be run alone.
 */
export class Promotion {
  readonly #database: Pick<QueueDatabase, 'attempts'>;
  readonly #bell: Pick<Bell, 'ring'>;
  readonly #events: QueueEvents;
  readonly #options: Pick<WorkerOptions, 'scheduledTimer'>;
  /** True when something may be due. */
  due = false;

  constructor(
    database: Pick<QueueDatabase, 'attempts'>,
    bell: Pick<Bell, 'ring'>,
    events: QueueEvents,
    options: Pick<WorkerOptions, 'scheduledTimer'>,
  ) {
    this.#database = database;
    this.#bell = bell;
    this.#events = events;
    this.#options = options;
  }

  request(): void {
    this.due = true;
  }

  async run(): Promise<Promoted> {
    this.due = false;
    const { promoted, earliestMs, nextDueInMs, isolated } = await this.#database.attempts
      .promote(this.#options.scheduledTimer ? pageSize : 0)
      .catch((error: unknown) => {
        this.due = true;
        throw error;
      });
    if (promoted > 0) {
      this.#events.emit('tasks.promoted', { count: promoted });
      void this.#bell.ring('tasks', { later: isolated, dueMs: earliestMs ?? 0 });
    }
    if (!this.#options.scheduledTimer)
      return { earliestMs, isolated, nextDueInMs: undefined, isFullPage: false };
    return { earliestMs, isolated, nextDueInMs, isFullPage: promoted === pageSize };
  }
}
