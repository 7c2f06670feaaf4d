import type { TaskRecord, TaskStatus } from '../task.js';
import type { SqlHandle } from '../storage/sql-handle.js';
import type { EncodedTask } from './task-input.js';

/** Where a client's tasks go, checked and encoded: one sentence per method. */
export interface TaskInserts {
  /** Inserts one task in the given transaction, or alone, and answers its id. */
  one(task: EncodedTask, tx: SqlHandle | undefined): Promise<string>;
  /** Inserts all tasks or none, and answers their ids in the same order. */
  many(tasks: readonly EncodedTask[], tx: SqlHandle | undefined): Promise<string[]>;
  /** Lists attempts equal to that task, oldest first. */
  equivalent(
    task: EncodedTask,
    statuses: readonly TaskStatus[],
    tx: SqlHandle | undefined,
  ): Promise<TaskRecord[]>;
}
