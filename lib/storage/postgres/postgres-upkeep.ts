import type { PurgedAtOnce, PurgeableCount, PurgeableWindow, PurgeLook, Upkeep } from '../upkeep.js';
import { readBoolean, readDate, readText } from '../columns.js';
import { dropPartitions } from './partitions/drop-partitions.js';
import { makePartitions } from './partitions/make-partitions.js';
import type { RunTransaction } from './partitions/short-transaction.js';
import { findPurgeable, purgeWhole } from './purging.js';
import { rethrowConnectionError, type QueueAccess } from './queue-access.js';
import { readIds } from './read-rows.js';
import { queryReadable } from './readable-rows.js';
import { describeRows } from './statements/status.js';

/** {@link Upkeep} of a plain or partitioned table. */
export class PostgresUpkeep implements Upkeep {
  readonly #access: QueueAccess;
  /** Given last when partitions were made. */
  #lastId: bigint | undefined;

  constructor(access: QueueAccess) {
    this.#access = access;
  }

  async prepareAhead(): Promise<void> {
    if (!(await this.#mayNeedPartitions())) return;
    const { tables } = this.#access.schema;
    this.#lastId = await makePartitions(this.#run, tables, this.#lastId).catch(rethrowConnectionError);
  }

  /** Where nothing was inserted since the last time there is nothing to do. */
  async #mayNeedPartitions(): Promise<boolean> {
    const [row] = await this.#access.ask(this.#access.sql.partitionWork, []);
    if (readBoolean(row?.['limited'])) return true;
    return readBoolean(row?.['partitioned']) && row?.['last'] !== this.#lastId?.toString();
  }

  purgeAtOnce(olderThanDays: number): Promise<PurgedAtOnce> {
    const { schema, sql } = this.#access;
    return dropPartitions(this.#run, schema.tables, sql, olderThanDays).catch(rethrowConnectionError);
  }

  findPurgeable(look: PurgeLook): Promise<PurgeableWindow> {
    return this.#run((tx) => findPurgeable(tx, this.#access.sql, look)).catch(rethrowConnectionError);
  }

  async describe(ids: readonly string[]): Promise<readonly PurgeableCount[]> {
    const { pool, schema } = this.#access;
    const { rows } = await queryReadable(pool, describeRows(schema.tables), [ids]);
    return rows.map((row) => ({
      topic: readText(row['processo']),
      subscriptionId: readText(row['subscriber_id']),
      rows: Number(row['n']),
      oldest: readDate(row['oldest']),
    }));
  }

  async families(ids: readonly string[]): Promise<readonly (readonly string[])[]> {
    const { rows } = await this.#access.onPool(this.#access.sql.familiesAmong, [ids]);
    return rows.map((row) => readIds(readText(row['ids'])) ?? []);
  }

  purge(ids: readonly string[]): Promise<number> {
    return this.#run((tx) => purgeWhole(tx, this.#access.sql, ids)).catch(rethrowConnectionError);
  }

  readonly #run: RunTransaction = (work) => this.#access.inTransaction(work);
}
