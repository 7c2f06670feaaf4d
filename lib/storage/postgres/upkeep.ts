import type { PartitionPurge, PurgeableWindow, PurgeLook } from '../purge-look.js';
import { readBoolean } from '../columns.js';
import { dropPartitions } from './partitions/drop-partitions.js';
import { makePartitions } from './partitions/make-partitions.js';
import type { RunTransaction } from './partitions/short-transaction.js';
import type { QueueTables } from './identifiers.js';
import { findPurgeable, purgeWhole } from './purging.js';
import type { QueueStatements } from './statements.js';
import type { AskControl } from './unreadable-tasks.js';

/** What {@link Upkeep} works with. */
export interface UpkeepParts {
  readonly ask: AskControl;
  readonly run: RunTransaction;
  readonly sql: QueueStatements;
  readonly tables: QueueTables;
}

/** Makes partitions before they are needed, and removes what nobody needs any more. */
export class Upkeep {
  readonly #parts: UpkeepParts;
  /** Given last when partitions were made. */
  #lastId: bigint | undefined;

  constructor(parts: UpkeepParts) {
    this.#parts = parts;
  }

  async makePartitions(): Promise<void> {
    if (!(await this.#mayNeedPartitions())) return;
    const { run, tables } = this.#parts;
    this.#lastId = await makePartitions(run, tables, this.#lastId);
  }

  /** Where nothing was inserted since the last time there is nothing to do. */
  async #mayNeedPartitions(): Promise<boolean> {
    const [row] = await this.#parts.ask(this.#parts.sql.partitionWork, []);
    if (readBoolean(row?.['limited'])) return true;
    return readBoolean(row?.['partitioned']) && row?.['last'] !== this.#lastId?.toString();
  }

  dropPartitions(olderThanDays: number): Promise<PartitionPurge> {
    const { run, tables, sql } = this.#parts;
    return dropPartitions({ run, tables, statements: sql }, olderThanDays);
  }

  findPurgeable(look: PurgeLook): Promise<PurgeableWindow> {
    return this.#parts.run((tx) => findPurgeable(tx, this.#parts.sql, look));
  }

  purge(ids: readonly string[]): Promise<number> {
    return this.#parts.run((tx) => purgeWhole(tx, this.#parts.sql, ids));
  }
}
