import type { QueueDatabase } from '../storage/database.js';

/**
 * Whether the database keeps rows of the queue from this worker without saying so. It must not claim then: it might not see what is
 * paused, or who has subscribed.
 */
export class HiddenRows {
  readonly #database: Pick<QueueDatabase, 'findHidden'>;
  /** What hides which rows, by the last look; undefined when nothing does. */
  found: string | undefined;

  constructor(database: Pick<QueueDatabase, 'findHidden'>) {
    this.#database = database;
  }

  /** Looks. What cannot be asked stays as it was: whatever is wrong, the worker's own statements meet it too. */
  async look(): Promise<void> {
    this.found = await this.#database.findHidden().catch(() => this.found);
  }
}
