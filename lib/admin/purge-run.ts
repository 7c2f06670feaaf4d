import type { SqlHandle } from '../storage/sql-handle.js';
import { readDate, readText } from '../storage/columns.js';
import type { QueueTables } from '../storage/postgres/identifiers.js';
import { queryReadable } from '../storage/postgres/readable-rows.js';
import { describeRows } from '../storage/postgres/statements/status.js';
import type { QueueDatabase } from '../storage/database.js';

/** What a {@link PurgeRun} works with. */
export interface PurgeRunParts {
  readonly database: Pick<QueueDatabase, 'upkeep' | 'workers'>;
  readonly handle: SqlHandle;
  readonly tables: QueueTables;
  /** Tasks that ended so long ago. */
  readonly olderThanDays: number;
  /** Rows deleted by one statement. */
  readonly limit: number;
}

/** How many rows of a topic or subscription can be purged. */
export interface PurgeableCount {
  readonly topic: string | null;
  readonly subscriptionId: string | null;
  readonly rows: number;
  readonly oldest: Date | null;
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
      const { rows } = await queryReadable(this.#parts.handle, describeRows(this.#parts.tables), [
        blocks.flat(),
      ]);
      yield rows.map((row) => ({
        topic: readText(row['processo']),
        subscriptionId: readText(row['subscriber_id']),
        rows: Number(row['n']),
        oldest: readDate(row['oldest']),
      }));
    }
  }

  /** Deletes, and answers after each block how many rows; whoever stops asking stops it. */
  async *run(): AsyncGenerator<number> {
    const { database, olderThanDays } = this.#parts;
    const dropped = await database.upkeep.dropPartitions(olderThanDays);
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
