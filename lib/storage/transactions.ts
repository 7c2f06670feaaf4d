import type { Completion, WorkerId } from './attempt.js';
import type { SqlHandle } from './sql-handle.js';

/** A session as its server knows it. */
export interface ServerSession {
  readonly id: number;
  /** Tells it from a later one of that number, and from one of another server. */
  readonly mark: string;
}

/** Transactions in which a handler's work and its task's success commit together. */
export interface TaskTransactions {
  /**
   * A transaction for one task, not opened yet.
   *
   * @param opened told where it runs once it is open, for somebody who may have to end it from outside: {@link endSession}. Not told
   * where the server does not say, as behind a pooler
   * @param quiet true for one in which nothing of ours rings, after {@link RingRefused}
   */
  begin(workerId: WorkerId, opened?: (session: ServerSession) => void, quiet?: boolean): TaskTransaction;
  /** A transaction for several tasks, not opened yet. */
  beginGroup(workerId: WorkerId): TaskGroup;
  /**
   * Completes an attempt through a transaction of the user's own. Rejects with `TASK_LOST` when the attempt is no longer this
   * worker's, with `RIGHTS_MISSING` when it is, and that transaction does not see or may not change its row.
   */
  completeIn(tx: SqlHandle, workerId: WorkerId, completion: Completion): Promise<void>;
  /** Ends a session whose client is gone, whatever it is at work on. Never rejects; one that is not there is nothing. */
  endSession(session: ServerSession): Promise<void>;
}

/**
 * One task's own transaction, opened by its first statement.
 */
export interface TaskTransaction extends SqlHandle {
  /** True once the first statement was sent. */
  readonly opened: boolean;
  /** The driver's client inside the transaction. */
  client(): Promise<unknown>;
  /**
   * Completes the attempt as the last statement and commits. Rejects with `TASK_LOST` when the attempt is no
   * longer this worker's, with `TRANSACTION_BROKEN` when the handler ended or broke its transaction, with {@link RingRefused} when
   * only the notification of what it inserted was in the way; in all of these cases nothing it did is kept.
   */
  complete(completion: Completion): Promise<void>;
  /** Undoes everything. Never rejects. */
  rollback(): Promise<void>;
  /** Cuts the connection: for a handler that timed out and may still be using it. */
  destroy(reason: Error): void;
}

/**
 * Several tasks' work in one transaction, one after the other, a savepoint each. Opened by the first statement of any.
 */
export interface TaskGroup {
  /** How many tasks it takes at most. */
  readonly most: number;
  /** The next task's part; the one before must be over. */
  next(): GroupedTransaction;
  /** True when nothing of it can commit any more: it takes no further task. */
  readonly broken: boolean;
  /** Commits what was completed. Never rejects: each part hears of it. */
  commit(): Promise<void>;
}

/**
 * One task's part of a {@link TaskGroup}. Its `complete` resolves when the group has committed, and rejects with
 * {@link GroupBroken} when it did not because of another task; `rollback` resolves when the group has ended.
 */
export interface GroupedTransaction extends TaskTransaction {
  /** Resolves when the next task may begin. */
  readonly over: Promise<void>;
  /** True when it could not do its work because of another task. */
  readonly disturbed: boolean;
}

/** A commit was refused because of the notification that went with it: all that it did is undone, and goes through in one without. */
export class RingRefused extends Error {
  override readonly name = 'RingRefused';
}

/** The transaction of a group did not end as it should, through no fault of the task that hears of it. */
export class GroupBroken extends Error {
  override readonly name = 'GroupBroken';
  /** True when what the task did is in the database anyway: another one has committed it. */
  readonly kept: boolean;

  constructor(message: string, { cause, kept = false }: { cause?: unknown; kept?: boolean } = {}) {
    super(message, { cause });
    this.kept = kept;
  }
}
