import type { QueueDatabase } from '../storage/database.js';
import type { PurgeableCount } from '../storage/upkeep.js';

export interface PurgeRunParts {
  readonly database: Pick<QueueDatabase, 'upkeep' | 'workers'>;
  /** Tasks that ended longer ago than that. */
  readonly olderThanDays: number;
  /** Rows deleted by one statement. */
  readonly limit: number;
}

/** Rows that are looked at by one statement, which takes some tens of milliseconds. */
const windowRows = 10_000;

/**
 * One purge from the oldest row to the last that is old enough, by the same rules as the routine's rounds. It keeps no
 * place between two runs, and leaves to others what they have locked.
 */
export class PurgeRun {
  readonly #parts: PurgeRunParts;
  #problem: Error | undefined;

  constructor(parts: PurgeRunParts) {
    this.#parts = parts;
  }

  /** Why a partition could not be dropped that could have been. */
  get problem(): Error | undefined {
    return this.#problem;
  }

  /**
   * Counts the rows that may be deleted, by topic; answers after each window those in it, and changes nothing. Of a table in
   * partitions some stay until the rest of their partition may go.
   */
  async *count(): AsyncGenerator<readonly PurgeableCount[]> {
    for await (const blocks of this.#windows(undefined)) {
      yield await this.#parts.database.upkeep.describe(blocks.flat());
    }
  }

  /** Deletes, and answers after each block how many rows; it stops when the caller stops asking. */
  async *run(): AsyncGenerator<number> {
    const { database, olderThanDays } = this.#parts;
    const dropped = await database.upkeep.purgeAtOnce(olderThanDays);
    this.#problem = dropped.problem;
    if (dropped.rows > 0) yield dropped.rows;
    for await (const blocks of this.#windows(dropped.before)) {
      for (const block of blocks) yield await database.upkeep.purge(block);
    }
    await database.workers.forget(olderThanDays);
  }

  /** @param before only rows with lesser ids; undefined for all */
  async *#windows(before: string | undefined): AsyncGenerator<readonly (readonly string[])[]> {
    const { database, olderThanDays, limit } = this.#parts;
    for (let after: string | undefined; ;) {
      const { blocks, last, goesOn } = await database.upkeep.findPurgeable({
        olderThanDays,
        after,
        before,
        rows: Math.max(windowRows, limit),
        blockRows: limit,
      });
      yield blocks;
      if (!goesOn) return;
      after = last;
    }
  }
}
