import type { SqlHandle } from '../client/sql-handle.js';
import { readDate, readText } from '../storage/columns.js';
import type { QueueTables } from '../storage/postgres/identifiers.js';
import { describeRows } from '../storage/postgres/statements/status.js';
import type { Storage } from '../storage/storage.js';

/** What a {@link PurgeRun} works with. */
export interface PurgeRunParts {
  readonly storage: Pick<Storage, 'findPurgeable' | 'purge' | 'forgetWorkers'>;
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

  constructor(parts: PurgeRunParts) {
    this.#parts = parts;
  }

  /** Counts what a run would delete now, by topic; answers after each window the rows in it, and changes nothing. */
  async *count(): AsyncGenerator<readonly PurgeableCount[]> {
    for await (const blocks of this.#windows()) {
      const { rows } = await this.#parts.handle.query(describeRows(this.#parts.tables), [blocks.flat()]);
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
    for await (const blocks of this.#windows()) {
      for (const block of blocks) yield await this.#parts.storage.purge(block);
    }
    await this.#parts.storage.forgetWorkers(this.#parts.olderThanDays);
  }

  async *#windows(): AsyncGenerator<readonly (readonly string[])[]> {
    const { storage, olderThanDays, limit } = this.#parts;
    for (let after: string | undefined; ;) {
      const { blocks, last, goesOn } = await storage.findPurgeable({
        olderThanDays,
        after,
        rows: Math.max(windowRows, limit),
        blockRows: limit,
      });
      yield blocks;
      if (!goesOn) return;
      after = last;
    }
  }
}
