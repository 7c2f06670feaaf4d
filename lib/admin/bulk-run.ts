import type { BulkBlock, BulkKind, MeantCount, TaskAdmin } from '../storage/admin.js';
import { readId } from '../values/attempt-id.js';
import { readSelection, type TaskFilter } from './task-filter.js';

export type { BulkBlock, BulkKind, MeantCount };

/** Which tasks are meant; the state that the kind of work asks for goes without saying. */
export type BulkFilter = Omit<TaskFilter, 'latest'>;

/** What is meant, as it was when it was counted. */
export interface BulkPlan {
  readonly filter: BulkFilter;
  readonly counts: readonly MeantCount[];
  readonly total: number;
  /** Greatest id of an attempt among them; what comes later is not meant. */
  readonly lastId: string;
}

/** Tasks of one statement: enough that round trips do not count, few enough that their locks are short. */
const blockRows = 500;

/**
 * Retries, cancels or deletes many tasks, each as the method of `QueueAdmin` of that name does, in blocks that commit alone.
 * What another session has locked, changed or deleted meanwhile is left out.
 *
 * @example
 * const run = admin.bulk('cancel', { reason: 'the campaign is off' });
 * const plan = await run.plan({ topic: 'send-mail' });
 * for await (const done of run.run(plan)) progress(done, plan.total);
 */
export class BulkRun {
  readonly #kind: BulkKind;
  readonly #tasks: Pick<TaskAdmin, 'countMeant' | 'runBlock'>;
  readonly #reason: string;

  /**
   * @hidden
   * @param reason recorded as the message of what is cancelled
   */
  constructor(kind: BulkKind, tasks: Pick<TaskAdmin, 'countMeant' | 'runBlock'>, reason: string) {
    this.#kind = kind;
    this.#tasks = tasks;
    this.#reason = reason;
  }

  /**
   * Counts the tasks that are meant. Reads the whole table, unless the filter names ids, an external key or a publication.
   *
   * @param options.timeoutMs the count is given up after this time. Default: never
   * @throws {TarefaError} `INPUT_INVALID`
   */
  async plan(
    filter: BulkFilter,
    options: { readonly timeoutMs?: number | undefined } = {},
  ): Promise<BulkPlan> {
    const { timeoutMs = 0 } = options;
    const { counts, lastId } = await this.#tasks.countMeant(this.#kind, readSelection(filter), timeoutMs);
    const total = counts.reduce((sum, { count }) => sum + count, 0);
    return { filter, counts, total, lastId };
  }

  /** Does it; answers after each block how many it was. It stops when the caller stops asking. */
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
    return this.#tasks.runBlock(this.#kind, readSelection(filter), {
      after: readId(after),
      lastId: readId(lastId),
      rows: blockRows,
      reason: this.#reason,
    });
  }
}
