import type { QueueEvents } from '../events.js';
import type { BulkBlock, BulkKind, MeantCount, RefusedTask, TaskAdmin } from '../storage/admin.js';
import type { Cancellation } from '../storage/cancellation.js';
import type { TaskSelection } from '../storage/task-selection.js';
import { TarefaError } from '../errors.js';
import { readId } from '../values/attempt-id.js';
import { shownValue } from '../values/shown-value.js';
import { readSelection, type TaskFilter } from './task-filter.js';

export type { BulkBlock, BulkKind, MeantCount, RefusedTask };

/**
 * Which tasks are meant; the state that the kind of work asks for goes without saying. A retry means those that failed, and
 * cancelled ones only where `status` names them.
 */
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

const kinds: readonly unknown[] = ['retry', 'cancel', 'delete'] satisfies BulkKind[];

/**
 * Retries, cancels or deletes many tasks, each as the method of `QueueAdmin` of that name does, in blocks that commit alone.
 * What another session has locked, changed or deleted meanwhile is left out, and so is what a constraint or a trigger does not
 * let change: `refused` names it.
 *
 * @example
 * const run = admin.bulk('cancel', { reason: 'the campaign is off' });
 * const plan = await run.plan({ topic: 'send-mail' });
 * for await (const done of run.run(plan)) progress(done, plan.total);
 */
export class BulkRun {
  readonly #kind: BulkKind;
  readonly #tasks: Pick<TaskAdmin, 'countMeant' | 'runBlock' | 'attemptsOf'>;
  readonly #cancellation: Cancellation;
  readonly #events: QueueEvents;
  readonly #refused: RefusedTask[] = [];

  /** @hidden */
  constructor(
    kind: BulkKind,
    tasks: Pick<TaskAdmin, 'countMeant' | 'runBlock' | 'attemptsOf'>,
    cancellation: Cancellation,
    events: QueueEvents,
  ) {
    if (!kinds.includes(kind)) {
      throw new TarefaError('INPUT_INVALID', `bulk takes ${kinds.join(', ')}, not ${shownValue(kind)}`);
    }
    this.#kind = kind;
    this.#tasks = tasks;
    this.#cancellation = cancellation;
    this.#events = events;
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
    const { counts, lastId } = await this.#tasks.countMeant(this.#kind, this.#select(filter), timeoutMs);
    const total = counts.reduce((sum, { count }) => sum + count, 0);
    return { filter, counts, total, lastId };
  }

  /** Tasks that {@link run} left as they are because the database refused their change. */
  get refused(): readonly RefusedTask[] {
    return this.#refused;
  }

  /** Does it; returns after each block how many it was. It stops when the caller stops asking. */
  async *run(plan: BulkPlan): AsyncGenerator<number> {
    for (let after: string | null = '0'; after !== null;) {
      const block: BulkBlock = await this.block(plan, after);
      if (block.refused) this.#refused.push(block.refused);
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
    const block = await this.#tasks.runBlock(this.#kind, this.#select(filter), {
      after: readId(after),
      lastId: readId(lastId),
      rows: blockRows,
      cancellation: this.#cancellation,
    });
    if (this.#kind === 'cancel' && block.done > 0) {
      this.#events.emit('tasks.cancelled', { count: block.done, ...this.#cancellation });
    }
    if (block.refused === undefined) return block;
    const [first] = await this.#tasks.attemptsOf(block.refused.id, false);
    return { ...block, refused: { ...block.refused, id: first?.firstAttemptId ?? block.refused.id } };
  }

  #select(filter: BulkFilter): TaskSelection {
    const selection = readSelection(filter);
    if (this.#kind !== 'retry' || selection.states) return selection;
    // What was cancelled is not to be done: it comes back to life only when that is asked for.
    return { ...selection, states: ['failed'] };
  }
}
