import type { TaskRecord, TaskState } from '../../task.js';
import type {
  BulkBlock,
  BulkKind,
  BulkPlace,
  EditedPayload,
  ListedPage,
  MeantCount,
  MeantTasks,
  TaskAdmin,
  TaskCount,
  WaitingTask,
} from '../admin.js';
import type { Route } from '../attempt.js';
import type { Cancellation, CancelledAttempt, CancelTarget } from '../cancellation.js';
import { column, readTaskRecord, statusColumn, taskState } from '../columns.js';
import { withEdit } from '../edited-metadata.js';
import { pauseOf, type Pause } from '../pause.js';
import type { TaskSelection } from '../task-selection.js';
import { startAnew, startDeadChain } from './memory-chain.js';
import {
  compareAge,
  dueMs,
  firstIdOf,
  hasEnded,
  hasFailedForGood,
  instant,
  isCancelled,
  isDead,
  isPending,
  isRunning,
  isScheduled,
  type MemoryRow,
} from './memory-row.js';
import { select } from './memory-selection.js';
import type { MemoryTable } from './memory-table.js';

/** Which attempts each kind of work means; of a task the last one only. */
const meant: Readonly<Record<BulkKind, (row: MemoryRow) => boolean>> = {
  retry: hasFailedForGood,
  cancel: isWaiting,
  delete: (row) => row[column.retried] !== 'true' && !isRunning(row),
};

/** {@link TaskAdmin} in memory. */
export class MemoryAdmin implements TaskAdmin {
  readonly #table: MemoryTable;

  constructor(table: MemoryTable) {
    this.#table = table;
  }

  async ping(): Promise<void> {}

  async notifyUsage(): Promise<undefined> {}

  async counts(since: string | null): Promise<readonly TaskCount[]> {
    const isCounted = (row: MemoryRow): boolean =>
      row[column.retried] !== 'true' && (!hasEnded(row) || since === null || dueMs(row) >= Date.parse(since));
    const tasks = this.#table.rows.filter(isCounted).map((row) => this.#read(row, false));
    return grouped(tasks, taskState).map(([{ topic, subscriptionId }, status, { length }]) => ({
      topic,
      subscriptionId,
      status,
      count: length,
    }));
  }

  async oldestPending(): Promise<WaitingTask | undefined> {
    const { nowMs, rows } = this.#table;
    const [oldest] = rows.filter((row) => isPending(row) && dueMs(row) <= nowMs).sort(compareAge);
    return oldest && { task: this.#read(oldest), waitingMs: nowMs - dueMs(oldest) };
  }

  async list(
    selection: TaskSelection,
    { greatest, limit, payload }: ListedPage,
  ): Promise<readonly TaskRecord[]> {
    return select(this.#table, selection)
      .filter((row) => BigInt(String(row[column.id])) <= greatest)
      .toReversed()
      .slice(0, limit + 1)
      .map((row) => this.#read(row, payload));
  }

  async attemptsOf(id: string, withPayload: boolean): Promise<readonly TaskRecord[]> {
    return this.#table.chainOf(id).map((row) => this.#read(row, withPayload));
  }

  async deadTasksOf(firstAttemptId: string): Promise<readonly string[]> {
    return this.#deadTasksOf(firstAttemptId).map(firstIdOf);
  }

  async retry(id: string): Promise<string | undefined> {
    const row = this.#attempt(id, hasFailedForGood);
    return row && startAnew(this.#table, row);
  }

  async retryEdited(id: string, { payload, by, reason }: EditedPayload): Promise<string | undefined> {
    const row = this.#attempt(id, hasFailedForGood);
    if (!row || row[column.subscriptionId] != null) return undefined;
    const edit = { at: instant(this.#table.nowMs), by, reason, after: row[column.id] ?? '' };
    const changed = withEdit(row[column.metadata], edit);
    return startAnew(this.#table, row, { [column.payload]: payload, [column.metadata]: changed });
  }

  async runNow(id: string): Promise<boolean> {
    const row = this.#attempt(id, isScheduled);
    if (!row) return false;
    const now = instant(this.#table.nowMs);
    Object.assign(row, { [column.status]: statusColumn.pending, [column.dueAt]: now });
    const before = this.#table.row(row['id_anterior'] ?? '');
    if (before) before[column.nextAttemptAt] = now;
    return true;
  }

  /** A given transaction changes nothing: what is cancelled stays so. */
  async cancel(target: CancelTarget, cancellation: Cancellation): Promise<readonly CancelledAttempt[]> {
    const rows =
      'ids' in target
        ? select(this.#table, { ids: target.ids })
        : select(this.#table, { ...target, dead: false });
    return rows.filter(isCancellable).map((row) => {
      const runs = isRunning(row);
      this.#cancel(row, cancellation);
      const { id, firstAttemptId, attempt, topic, subscriptionId, dead } = this.#read(row, false);
      return { id, firstAttemptId, attempt, topic, subscriptionId, dead, runs };
    });
  }

  async bury(id: string, message: string): Promise<string | undefined> {
    const row = this.#attempt(id, (one) => isWaiting(one) && !isDead(one));
    if (!row) return undefined;
    this.#end(row, message);
    row[column.exhausted] = 'true';
    return startDeadChain(this.#table, row);
  }

  async delete(firstAttemptId: string): Promise<number> {
    const whole = this.#wholeTask(firstAttemptId);
    if (whole.some(isRunning)) return 0;
    this.#table.remove(whole.map((row) => String(row[column.id])));
    return whole.length;
  }

  async countMeant(kind: BulkKind, selection: TaskSelection): Promise<MeantTasks> {
    const rows = this.#meant(kind, selection);
    const counts = grouped(
      rows.map((row) => this.#read(row, false)),
      () => undefined,
    ).map(([{ topic, subscriptionId }, , tasks]): MeantCount => {
      const oldest = new Date(Math.min(...tasks.map(({ dueAt }) => dueAt.getTime())));
      return { topic, subscriptionId, count: tasks.length, oldest };
    });
    return { counts, lastId: rows.at(-1)?.[column.id] ?? '0' };
  }

  async runBlock(
    kind: BulkKind,
    selection: TaskSelection,
    { after, lastId, rows, cancellation }: BulkPlace,
  ): Promise<BulkBlock> {
    const block = this.#meant(kind, selection)
      .filter((row) => isBetween(row, after, lastId))
      .slice(0, rows);
    let done = 0;
    for (const row of block) done += await this.#run(kind, row, cancellation);
    return { done, after: block.length < rows ? null : String(block.at(-1)?.[column.id]) };
  }

  async pause(route: Route): Promise<void> {
    if (!this.#table.paused.has(route)) this.#table.paused.set(route, this.#table.nowMs);
  }

  async resume(route: Route): Promise<void> {
    this.#table.paused.delete(route);
  }

  async paused(): Promise<readonly Pause[]> {
    return [...this.#table.paused].map(([route, since]) => pauseOf(route, new Date(since)));
  }

  async #run(kind: BulkKind, row: MemoryRow, cancellation: Cancellation): Promise<number> {
    if (kind === 'retry') startAnew(this.#table, row);
    else if (kind === 'cancel') this.#cancel(row, cancellation);
    else return (await this.delete(firstIdOf(row))) > 0 ? 1 : 0;
    return 1;
  }

  /** A mark that is there stays as it is. */
  #cancel(row: MemoryRow, { message, by }: Cancellation): void {
    if (isCancelled(row)) return;
    if (isRunning(row)) row[column.message] = message;
    else this.#end(row, message);
    row[column.cancelledBy] = by ?? '';
  }

  /** Ends a task that waits, without a dead task. */
  #end(row: MemoryRow, message: string): void {
    row[column.status] = statusColumn.failed;
    row[column.message] = message;
    row[column.finishedAt] = instant(this.#table.nowMs);
    row[column.nextAttemptAt] = null;
  }

  #meant(kind: BulkKind, selection: TaskSelection): readonly MemoryRow[] {
    return select(this.#table, selection).filter(meant[kind]);
  }

  /** The attempt of a task that meets a condition: there is one at most that waits, or that may be retried. */
  #attempt(id: string, condition: (row: MemoryRow) => boolean): MemoryRow | undefined {
    return this.#table.chainOf(id).find(condition);
  }

  #deadTasksOf(firstAttemptId: string): readonly MemoryRow[] {
    return this.#table.rows.filter(
      (row) => isDead(row) && row[column.firstAttemptId] == null && row[column.liveId] === firstAttemptId,
    );
  }

  /** A task's attempts, its dead tasks and those of these. */
  #wholeTask(firstAttemptId: string): readonly MemoryRow[] {
    const dead = this.#deadTasksOf(firstAttemptId).flatMap((row) => this.#wholeTask(firstIdOf(row)));
    return [...this.#table.chainOf(firstAttemptId), ...dead];
  }

  #read(row: MemoryRow, withPayload = true): TaskRecord {
    return readTaskRecord(withPayload ? this.#table.resolved(row) : { ...row, [column.payload]: null });
  }
}

function isWaiting(row: MemoryRow): boolean {
  return isPending(row) || isScheduled(row);
}

/** It waits, or a worker of this library runs it. */
function isCancellable(row: MemoryRow): boolean {
  return isWaiting(row) || (isRunning(row) && row['executor'] != null);
}

function isBetween(row: MemoryRow, after: string, lastId: string): boolean {
  const id = BigInt(String(row[column.id]));
  return id > BigInt(after) && id <= BigInt(lastId);
}

/** Tasks by topic, subscription and something else, in that order. */
function grouped<Key extends TaskState | undefined>(
  tasks: readonly TaskRecord[],
  keyOf: (task: TaskRecord) => Key,
): readonly (readonly [TaskRecord, Key, readonly TaskRecord[]])[] {
  const groups = new Map<string, [TaskRecord, Key, TaskRecord[]]>();
  for (const task of tasks) {
    const name = JSON.stringify([task.topic ?? '', task.subscriptionId ?? '', keyOf(task) ?? '']);
    const group = groups.get(name);
    if (group) group[2].push(task);
    else groups.set(name, [task, keyOf(task), [task]]);
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
}
