import type { JsonObject, TaskRecord, TaskStatus } from '../task.js';
import type { SqlHandle } from './sql-handle.js';

/** A task to insert, checked. */
export interface NewTask {
  readonly topic: string | null;
  readonly payload: string | null;
  /** SHA-256 of the payload's UTF-8 bytes in hexadecimal; null for an empty payload. */
  readonly payloadHash: string | null;
  readonly externalKey: string | null;
  readonly origin: string | null;
  readonly destination: string | null;
  /** A whole number of 63 bits. */
  readonly tenant: string | null;
  readonly group: string | null;
  /** Null: {@link defaultPriority}. */
  readonly priority: number | null;
  /** ISO 8601 with its time zone. Null: `delayMs` from now. */
  readonly dueAt: string | null;
  /** Counted from the database's clock. Null: no delay. */
  readonly delayMs: number | null;
  /** True for a publication: one delivery for every active subscription of the topic. */
  readonly publication: boolean;
  readonly metadata: JsonObject | null;
  readonly unique: UniqueKey | null;
}

/** A key that one task has at a time. */
export interface UniqueKey {
  /** As the producer gave it. */
  readonly key: string;
  /** As the table keeps it: `v:` and the key while a task lives, `p:` until it starts, `w:` with a window until it is purged. */
  readonly stored: string;
  /** What is done where another task has it. */
  readonly onConflict: 'reject' | 'return' | 'replace';
}

/** So often in a row a key may be taken and free again before an insert gives up. */
export const uniqueAttempts = 10;

/** The priority of tasks that are inserted without one. */
export const defaultPriority = 50;

/** Inserts tasks, in the caller's transaction where one is given, and wakes the workers that serve them. */
export interface TaskInserts {
  /**
   * Inserts one task and answers its id, or that of the task that has its unique key.
   *
   * @throws {TaskDuplicateError} when it has, and the task is to be rejected
   */
  insert(task: NewTask, tx?: SqlHandle): Promise<string>;
  /**
   * Inserts all tasks or none, and answers their ids in the same order: of one whose unique key is taken, whatever its
   * `onConflict`, the id of the task that has it.
   */
  insertMany(tasks: readonly NewTask[], tx?: SqlHandle): Promise<string[]>;
  /**
   * Lists attempts in these statuses that equal a task, oldest first: same payload, external key, origin, destination, topic,
   * tenant and group, where no value equals only no value.
   */
  listEquivalent(task: NewTask, statuses: readonly TaskStatus[], tx?: SqlHandle): Promise<TaskRecord[]>;
}
