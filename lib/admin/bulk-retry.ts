import type { SqlHandle } from '../client/sql-handle.js';
import { readDate, readText } from '../storage/columns.js';
import type { QueueTables } from '../storage/postgres/identifiers.js';
import { countFailed, retryFailed } from '../storage/postgres/statements/admin.js';
import { filterSql, readId, type TaskFilter } from './task-filter.js';

/** Which failed tasks to retry; that they have failed, and have no next attempt, goes without saying. */
export type RetryFilter = Omit<TaskFilter, 'status' | 'latest'>;

/** How many failed tasks of a topic or subscription are meant. */
export interface FailedCount {
  readonly topic: string | null;
  readonly subscriptionId: string | null;
  readonly count: number;
  /** When the oldest was due. */
  readonly oldest: Date | null;
}

/** What is meant, as it was when it was counted. */
export interface RetryPlan {
  readonly filter: RetryFilter;
  readonly counts: readonly FailedCount[];
  readonly total: number;
  /** Greatest id among them; what fails later is not meant. */
  readonly lastId: string;
}

/** What one statement did. */
export interface RetryBlock {
  /** How many were looked at. */
  readonly chosen: number;
  readonly retried: number;
  /** Where the next one begins; null at the end. */
  readonly after: string | null;
}

/** Tasks of one statement: enough that round trips do not count, few enough that nobody waits for their locks. */
const blockRows = 500;

/** Starts many failed tasks anew, each as `QueueAdmin.retry` does, in blocks that commit alone. */
export class BulkRetry {
  readonly #handle: SqlHandle;
  readonly #tables: QueueTables;

  constructor(handle: SqlHandle, tables: QueueTables) {
    this.#handle = handle;
    this.#tables = tables;
  }

  /**
   * Counts the tasks that are meant. Reads the whole table, unless the filter names an external key or a publication.
   *
   * @throws {TarefaError} `INPUT_INVALID`
   */
  async plan(filter: RetryFilter): Promise<RetryPlan> {
    const { conditions, values } = filterSql(filter, 1);
    const { rows } = await this.#handle.query(countFailed(this.#tables, conditions), [...values]);
    const counts = rows.map((row) => ({
      topic: readText(row['processo']),
      subscriptionId: readText(row['subscriber_id']),
      count: Number(row['n']),
      oldest: readDate(row['oldest']),
    }));
    const total = counts.reduce((sum, { count }) => sum + count, 0);
    const last = rows.map((row) => BigInt(String(row['last']))).reduce((a, b) => (a > b ? a : b), 0n);
    return { filter, counts, total, lastId: String(last) };
  }

  /**
   * Retries them; answers after each block how many it was. What somebody has locked, retried or deleted meanwhile is
   * left out. Whoever stops asking stops it.
   */
  async *run(plan: RetryPlan): AsyncGenerator<number> {
    for (let after: string | null = '0'; after !== null;) {
      const block: RetryBlock = await this.block(plan, after);
      if (block.chosen > 0) yield block.retried;
      after = block.after;
    }
  }

  /**
   * One block of them.
   *
   * @param after `'0'`, then `after` of the block before
   * @throws {TarefaError} `INPUT_INVALID`
   */
  async block({ filter, lastId }: Pick<RetryPlan, 'filter' | 'lastId'>, after: string): Promise<RetryBlock> {
    const { conditions, values } = filterSql(filter, 4);
    const text = retryFailed(this.#tables, conditions);
    const { rows } = await this.#handle.query(text, [readId(after), readId(lastId), blockRows, ...values]);
    const row = rows[0] ?? {};
    const chosen = Number(row['chosen']);
    return {
      chosen,
      retried: Number(row['retried'] ?? 0),
      after: chosen < blockRows ? null : String(row['last']),
    };
  }
}
