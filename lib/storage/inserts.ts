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
}

/** The priority of tasks that are inserted without one. */
export const defaultPriority = 50;

/** Inserts tasks, in the caller's transaction where one is given, and wakes the workers that serve them. */
export interface TaskInserts {
  /** Inserts one task and answers its id. */
  insert(task: NewTask, tx?: SqlHandle): Promise<string>;
  /** Inserts all tasks or none, and answers their ids in the same order. */
  insertMany(tasks: readonly NewTask[], tx?: SqlHandle): Promise<string[]>;
  /**
   * Lists attempts in these statuses that equal a task, oldest first: same payload, external key, origin, destination, topic,
   * tenant and group, where no value equals only no value.
   */
  listEquivalent(task: NewTask, statuses: readonly TaskStatus[], tx?: SqlHandle): Promise<TaskRecord[]>;
}
