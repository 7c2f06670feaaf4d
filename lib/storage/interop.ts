import type { HeldTask, WorkerId } from './attempt.js';

/** Whether workers of nsj-queue-lib lock tasks where this library cannot see it. */
export interface ForeignLocks {
  /** What shows it, for people; undefined when nothing does. */
  readonly evidence: string | undefined;
  /** Sessions that do not show what they do, so that nothing can be said of them. */
  readonly hiddenSessions: number;
}

/** What a queue needs beside workers of nsj-queue-lib, which lock the tasks that they run. */
export interface Interop {
  /**
   * Gives back the task locks of attempts that the worker does not hold any more, and takes again those that went with a
   * connection. Returns false when another session has one of these: to be called again in a moment.
   */
  keepTaskLocks(workerId: WorkerId, held: readonly string[]): Promise<boolean>;
  /** Looks for workers of nsj-queue-lib whose task locks are not in the database. */
  findForeignLocks(): Promise<ForeignLocks>;
  /** Takes over running attempts, at most `limit`, that a worker of nsj-queue-lib has left. */
  takeOver(workerId: WorkerId, limit: number): Promise<readonly HeldTask[]>;
}
