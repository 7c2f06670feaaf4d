import type { SqlHandle } from '../storage/sql-handle.js';
import { readDate, readText } from '../storage/columns.js';
import type { QueueTables } from '../storage/postgres/identifiers.js';
import { readInTransaction } from '../storage/postgres/readable-rows.js';
import {
  cancelMany,
  chooseDeletable,
  countMeant,
  retryMany,
  type BulkKind,
} from '../storage/postgres/statements/bulk.js';
import { messageOf } from './admin-input.js';
import { deleteWhole } from './delete-tasks.js';
import { filterSql, readId, type TaskFilter } from './task-filter.js';

export type { BulkKind };

/** Which tasks are meant; the state that the kind of work asks for goes without saying. */
export type BulkFilter = Omit<TaskFilter, 'latest'>;

/** How many tasks of a topic or subscription are meant. */
export interface MeantCount {
  readonly topic: string | null;
  readonly subscriptionId: string | null;
  readonly count: number;
  /** When the oldest was due. */
  readonly oldest: Date | null;
}

/** What is meant, as it was when it was counted. */
export interface BulkPlan {
  readonly filter: BulkFilter;
  readonly counts: readonly MeantCount[];
  readonly total: number;
  /** Greatest id of an attempt among them; what comes later is not meant. */
  readonly lastId: string;
}

/** What one block did. */
export interface BulkBlock {
  readonly done: number;
  /** Where the next one begins; null at the end. */
  readonly after: string | null;
}

/** What a {@link BulkRun} works with. */
export interface BulkRunParts {
  readonly handle: SqlHandle;
  readonly tables: QueueTables;
  /** Runs its argument inside one transaction. */
  readonly transaction: <T>(work: (tx: SqlHandle) => Promise<T>) => Promise<T>;
  /** The same for changes of tasks that wait; beside workers of nsj-queue-lib in turn with their notify job. */
  readonly turn: <T>(work: (tx: SqlHandle) => Promise<T>) => Promise<T>;
  /** Recorded as the message of what is cancelled. */
  readonly reason: string;
}

/** Tasks of one statement: enough that round trips do not count, few enough that nobody waits for their locks. */
const blockRows = 500;

/**
 * Retries, cancels or deletes many tasks, each as the method of `QueueAdmin` of that name does, in blocks that commit alone.
 * What somebody else has locked, changed or deleted meanwhile is left out.
 *
 * @example
 * const run = admin.bulk('cancel', { reason: 'the campaign is off' });
 * const plan = await run.plan({ topic: 'send-mail' });
 * for await (const done of run.run(plan)) progress(done, plan.total);
 */
export class BulkRun {
  readonly #kind: BulkKind;
  readonly #parts: BulkRunParts;

  constructor(kind: BulkKind, parts: BulkRunParts) {
    this.#kind = kind;
    this.#parts = parts;
  }

  /**
   * Counts the tasks that are meant. Reads the whole table, unless the filter names ids, an external key or a publication.
   *
   * @param options.timeoutMs the count is given up after so many ms. Default: never
   * @throws {TarefaError} `INPUT_INVALID`
   */
  async plan(
    filter: BulkFilter,
    options: { readonly timeoutMs?: number | undefined } = {},
  ): Promise<BulkPlan> {
    const { tables, transaction } = this.#parts;
    const timeoutMs = options.timeoutMs ?? 0;
    const { conditions, values } = filterSql(filter, 1, tables);
    const rows = await readInTransaction<Record<string, unknown>[]>(transaction, async (tx, read) => {
      await tx.query(`set local statement_timeout = ${Math.round(timeoutMs)}`);
      return (await read(tx, countMeant(tables, this.#kind, conditions), [...values])).rows;
    });
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

  /** Does it; answers after each block how many it was. Whoever stops asking stops it. */
  async *run(plan: BulkPlan): AsyncGenerator<number> {
    for (let after: string | null = '0'; after !== null;) {
      const block: BulkBlock = await this.block(plan, after);
      if (block.done > 0 || block.after !== null) yield block.done;
      after = block.after;
    }
  }

  /**
   * One block of them.
   *
   * @param after `'0'`, then `after` of the block before
   * @throws {TarefaError} `INPUT_INVALID`, `QUEUE_BUSY`
   */
  async block({ filter, lastId }: Pick<BulkPlan, 'filter' | 'lastId'>, after: string): Promise<BulkBlock> {
    const place = [readId(after), readId(lastId), blockRows];
    const row = await this.#kinds[this.#kind](filter, place);
    return {
      done: Number(row['done'] ?? 0),
      after: Number(row['chosen']) < blockRows ? null : String(row['last']),
    };
  }

  readonly #kinds: Readonly<Record<BulkKind, (filter: BulkFilter, place: unknown[]) => Promise<Row>>> = {
    retry: async (filter, place) => {
      const { handle, tables } = this.#parts;
      const { conditions, values } = filterSql(filter, 4, tables);
      return firstRow(await handle.query(retryMany(tables, conditions), [...place, ...values]));
    },
    cancel: async (filter, place) => {
      const { tables, turn, reason } = this.#parts;
      const { conditions, values } = filterSql(filter, 5, tables);
      const parameters = [...place, messageOf(reason), ...values];
      return turn(async (tx) => firstRow(await tx.query(cancelMany(tables, conditions), parameters)));
    },
    delete: async (filter, place) => {
      const { tables, turn } = this.#parts;
      const { conditions, values } = filterSql(filter, 4, tables);
      return turn(async (tx) => {
        const text = chooseDeletable(tables, conditions);
        const block = firstRow(await tx.query(text, [...place, ...values]));
        const { done } = await deleteWhole(tx, tables, block['tasks'] as readonly string[], { skips: true });
        return { ...block, done };
      });
    },
  };
}

type Row = Readonly<Record<string, unknown>>;

function firstRow({ rows }: { readonly rows: readonly Row[] }): Row {
  return rows[0] ?? {};
}
