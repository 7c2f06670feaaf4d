import type { QueueDatabase } from '../storage/database.js';
import { KeptTasks } from '../storage/kept-tasks.js';
import { purgeBlock } from '../storage/purge-blocks.js';
import { findWithin, mostWindowRows } from '../storage/purge-windows.js';
import type { PurgeableCount } from '../storage/upkeep.js';

/**
 * One purge from the oldest row to the last that is old enough, by the same rules as the routine's rounds. It keeps no
 * place between two runs, and leaves to others what they have locked.
 */
export class PurgeRun {
  readonly #database: Pick<QueueDatabase, 'classify' | 'upkeep' | 'workers'>;
  /** Tasks that ended longer ago than that. */
  readonly #olderThanDays: number;
  /** Rows deleted by one statement. */
  readonly #limit: number;
  readonly #kept = new KeptTasks();
  #blockRows: number;
  #problem: Error | undefined;

  constructor(
    database: Pick<QueueDatabase, 'classify' | 'upkeep' | 'workers'>,
    olderThanDays: number,
    limit: number,
  ) {
    this.#database = database;
    this.#olderThanDays = olderThanDays;
    this.#limit = limit;
    this.#blockRows = limit;
  }

  /** Why something stayed that could have gone: a partition that could not be dropped, tasks that could not be deleted. */
  takeProblems(): readonly string[] {
    return [...(this.#problem ? [this.#problem.message] : []), ...this.#kept.takeReasons()];
  }

  /**
   * Counts the rows that may be deleted, by topic; returns after each window those in it, and changes nothing. Of a table in
   * partitions some stay until the rest of their partition may go.
   */
  async *count(): AsyncGenerator<readonly PurgeableCount[]> {
    for await (const blocks of this.#windows(undefined)) {
      yield await this.#database.upkeep.describe(blocks.flat());
    }
  }

  /** Deletes, and answers after each block how many rows; it stops when the caller stops asking. */
  async *run(): AsyncGenerator<number> {
    const dropped = await this.#database.upkeep.purgeAtOnce(this.#olderThanDays);
    this.#problem = dropped.problem;
    if (dropped.rows > 0) yield dropped.rows;
    for await (const blocks of this.#windows(dropped.before)) {
      const before = this.#blockRows;
      for (const block of blocks) {
        yield await this.#purge(block);
        if (this.#blockRows < before) break;
      }
    }
    await this.#database.workers.forget(this.#olderThanDays);
  }

  async #purge(block: readonly string[]): Promise<number> {
    const { gone, kept, isTooLarge } = await purgeBlock(this.#database, this.#kept.without(block));
    this.#kept.add(kept);
    if (isTooLarge) this.#blockRows = Math.max(1, Math.floor(Math.min(this.#blockRows, block.length) / 2));
    return gone;
  }

  /** @param before only rows with lesser ids; undefined for all */
  async *#windows(before: string | undefined): AsyncGenerator<readonly (readonly string[])[]> {
    let after: string | undefined;
    let rows = Math.max(mostWindowRows, this.#limit);
    for (;;) {
      const blockRows = this.#blockRows;
      const found = await findWithin(this.#database, {
        olderThanDays: this.#olderThanDays,
        after,
        before,
        rows,
        blockRows,
      });
      ({ rows } = found);
      const { blocks, last, goesOn } = found.window;
      yield blocks;
      // One took too long: looked at again, in smaller blocks.
      if (this.#blockRows < blockRows) continue;
      if (!goesOn) return;
      after = last;
    }
  }
}
