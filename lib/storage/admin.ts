import type { TaskRecord, TaskState } from '../task.js';
import type { Route } from './attempt.js';
import type { Cancellation, CancelledAttempt, CancelTarget } from './cancellation.js';
import type { Pause } from './pause.js';
import type { SqlHandle } from './sql-handle.js';
import type { TaskSelection } from './task-selection.js';

/** How many tasks of a topic or subscription stand there. */
export interface TaskCount {
  readonly topic: string | null;
  /** Null for tasks that are not deliveries. */
  readonly subscriptionId: string | null;
  readonly status: TaskState;
  readonly count: number;
}

/** An attempt that has waited, and how long. */
export interface WaitingTask {
  readonly task: TaskRecord;
  /** Ms since it was due, by the database's clock. */
  readonly waitingMs: number;
}

/** A page of attempts, the newest first. */
export interface ListedPage {
  /** Ids up to this one. */
  readonly greatest: bigint;
  readonly limit: number;
  /** False leaves payloads in the database: each is null then. */
  readonly payload: boolean;
}

/** A payload that replaces that of a failed task, and who did it. */
export interface EditedPayload {
  readonly payload: string | null;
  readonly hash: string | null;
  readonly by: string | null;
  readonly reason: string | null;
}

/** What is done with many tasks. */
export type BulkKind = 'retry' | 'cancel' | 'delete';

/** How many tasks of a topic or subscription are meant. */
export interface MeantCount {
  readonly topic: string | null;
  readonly subscriptionId: string | null;
  readonly count: number;
  /** When the oldest was due. */
  readonly oldest: Date | null;
}

/** What is meant by work with many tasks. */
export interface MeantTasks {
  readonly counts: readonly MeantCount[];
  /** Greatest id of an attempt among them; `0` when there are none. */
  readonly lastId: string;
}

/** Where a block of work begins, and how far it may go. */
export interface BulkPlace {
  /** Attempts with greater ids. */
  readonly after: string;
  /** Attempts up to this id. */
  readonly lastId: string;
  readonly rows: number;
  /** Of what is cancelled. */
  readonly cancellation: Cancellation;
}

/** A task that the database did not let change. */
export interface RefusedTask {
  /** Of any of its attempts; from `BulkRun` its number, the id of the first one. */
  readonly id: string;
  /** What the database says. */
  readonly message: string;
}

/** What one block did. */
export interface BulkBlock {
  readonly done: number;
  /** Where the next one begins; null at the end. */
  readonly after: string | null;
  /** The task of the block that stays as it is because a constraint or a trigger refuses the change, if there is one. */
  readonly refused?: RefusedTask | undefined;
}

/**
 * What operators read and change. Changes are guarded, and answer undefined, 0 or false where the task's state does not
 * allow them. An id is that of any of a task's attempts.
 */
export interface TaskAdmin {
  /** Resolves when the database answers. */
  ping(): Promise<void>;
  /** How full the server's queue of notifications is, from 0 to 1; undefined where it has none. */
  notifyUsage(): Promise<number | undefined>;
  /** Counts tasks by topic, subscription and status; what has ended only when it was due since then, null for all. */
  counts(since: string | null): Promise<readonly TaskCount[]>;
  /** The pending attempt that has been due for longest. */
  oldestPending(): Promise<WaitingTask | undefined>;
  /** Attempts, the newest first: at most one more than the page takes, which tells that there is another page. */
  list(selection: TaskSelection, page: ListedPage): Promise<readonly TaskRecord[]>;
  /** All attempts of a task, oldest first; empty when it is not there. */
  attemptsOf(id: string, withPayload: boolean): Promise<readonly TaskRecord[]>;
  /** Ids of the first attempts of the dead tasks that a task left. */
  deadTasksOf(firstAttemptId: string): Promise<readonly string[]>;
  /** Starts a failed task again; the id of its new attempt. */
  retry(id: string): Promise<string | undefined>;
  /** Starts a failed task again with another payload; the id of its new attempt. */
  retryEdited(id: string, edited: EditedPayload): Promise<string | undefined>;
  /** Makes a scheduled task due now. Rejects with `QUEUE_BUSY`. */
  runNow(id: string): Promise<boolean>;
  /**
   * Cancels those tasks of some that have not ended: what waits ends, without a dead task, and what a worker of this library runs is
   * asked to stop. Rejects with `QUEUE_BUSY`.
   */
  cancel(
    target: CancelTarget,
    cancellation: Cancellation,
    tx?: SqlHandle,
  ): Promise<readonly CancelledAttempt[]>;
  /** Ends a task that waits as if it had run out of attempts; the id of its dead task. Rejects with `QUEUE_BUSY`. */
  bury(id: string, message: string): Promise<string | undefined>;
  /** Deletes a task that does not run, with its dead tasks; how many attempts that were. Rejects with `QUEUE_BUSY`. */
  delete(firstAttemptId: string): Promise<number>;
  /** Counts what work with many tasks means, for at most `timeoutMs`; 0 for as long as it takes. */
  countMeant(kind: BulkKind, selection: TaskSelection, timeoutMs: number): Promise<MeantTasks>;
  /**
   * Does one block of that work; what another session has locked or changed is left out. A block that is refused, or takes too
   * long, is done in smaller ones, down to the task that is to blame. Rejects with `QUEUE_BUSY`.
   */
  runBlock(kind: BulkKind, selection: TaskSelection, place: BulkPlace): Promise<BulkBlock>;
  /** Keeps workers from starting a route's attempts. */
  pause(route: Route): Promise<void>;
  /** Ends a pause. */
  resume(route: Route): Promise<void>;
  /** What is paused. */
  paused(): Promise<readonly Pause[]>;
}
