import type { Coordinator } from '../coordination/coordinator.js';
import type { Storage } from '../storage/storage.js';

export interface PurgeRules {
  /** Attempts that were due longer ago are deleted. */
  readonly maxAgeDays: number;
  /** Rows deleted by one statement. */
  readonly limit: number;
  /** Statements of one round. */
  readonly roundLimit: number;
}

/**
 * Deletes old history at its minutes: ended attempts of ended chains, oldest first, in blocks. What still
 * runs, waits, or holds the payload of something that does is never touched, however old.
 */
export class PurgeRoutine {
  readonly #storage: Storage;
  readonly #coordinator: Coordinator;
  readonly #rules: PurgeRules;

  constructor(storage: Storage, coordinator: Coordinator, rules: PurgeRules) {
    this.#storage = storage;
    this.#coordinator = coordinator;
    this.#rules = rules;
  }

  /** Runs one round; answers how many rows were deleted, undefined when another worker runs it now. */
  run(): Promise<number | undefined> {
    return this.#coordinator.exclusively('purge', () => this.runNow());
  }

  /** The same, also beside another worker that runs it: rows that one has locked are left to it. */
  async runNow(): Promise<number> {
    const { maxAgeDays, limit, roundLimit } = this.#rules;
    const ids = await this.#storage.findPurgeable(maxAgeDays, limit * roundLimit);
    let deleted = 0;
    for (let first = 0; first < ids.length; first += limit) {
      deleted += await this.#storage.purge(ids.slice(first, first + limit));
    }
    await this.#storage.forgetWorkers(maxAgeDays);
    return deleted;
  }
}
