import type { SqlHandle } from './sql-handle.js';
import type { Task } from '../task.js';
import type { DeclaredSubscription, SubscriptionRow } from './declared-subscription.js';
import type { PartitionPurge, PurgeableWindow, PurgeLook } from './purge-look.js';
import type { UnreadableAmong, UnreadableTask } from './unreadable-task.js';
import type { ServedRoutes, WaitingRoute } from './waiting-route.js';

/** Id of a running worker, as `executor` in the rows it holds. */
export type WorkerId = string;

/** What makes an attempt this worker's: written by the claim, demanded by every later statement. */
export interface Claim {
  readonly id: string;
  /** Claim counter of the row (`reserva`): with the worker id the fencing token. */
  readonly reservation: number;
}

/** An attempt just claimed. */
export interface ClaimedTask extends Claim {
  readonly task: Task;
  readonly route: Route;
  readonly publication: boolean;
  /** When it was due, as the database writes it. */
  readonly due: string;
  /** As it is stored; null where somebody made it so. */
  readonly priority: number | null;
  /** Workers lost in a row before this attempt. */
  readonly losses: number;
  /** Size in bytes of a payload that was too large to come along; null otherwise. */
  readonly payloadBytes: number | null;
  /** Payload text; undefined when it was too large to come along: `loadPayload` reads it. */
  readonly payload: string | null | undefined;
}

/** What workers claim by: `p` (publications), `s:<subscription>` or `t:<topic>`. */
export type Route = string;

/** How many attempts of a route a worker can take now. */
export interface RouteDemand {
  readonly route: Route;
  readonly limit: number;
}

/** Where a claim looks: the attempts of one route that are pending and due. */
export interface Stretch extends RouteDemand {
  /** Undefined for the whole route, from its front. */
  readonly bounds?: StretchBounds;
}

/** Only attempts of these priorities, both included, that were due at that time or later. */
export interface StretchBounds {
  readonly highest: number;
  readonly lowest: number;
  /** As the database writes it; `-infinity` for all. */
  readonly since: string;
}

/**
 * How a claim divides its limit: `single` when at most one route is likely to have work, `counted` when several have
 * and the best attempts of all are wanted, `shared` when each route takes up to its own limit, in their order.
 */
export type ClaimShape = 'single' | 'counted' | 'shared';

/** Statements of different lanes are under way at the same time. */
export type Lane = 'first' | 'second';

/** What to claim. Either all stretches have bounds or none. */
export interface ClaimRequest {
  readonly shape: ClaimShape;
  readonly stretches: readonly Stretch[];
  /** Limit of all together. */
  readonly total: number;
  /** Of a route, true for dead attempts only, false for others only. Default: undefined, which is both. */
  readonly dead?: (route: Route) => boolean | undefined;
}

/** How an attempt ended well. */
export interface Completion extends Claim {
  readonly message: string;
  readonly result: string | null;
}

/** How an attempt ended badly, and the rule for its next one. */
export interface Failure extends Claim {
  /** Worker that holds the row: this one, or a lost one when it is recovered. */
  readonly workerId: WorkerId;
  readonly message: string;
  /** Whole error text with stack. */
  readonly error: string | null;
  /** Attempts the chain may have in all. */
  readonly maxAttempts: number;
  readonly next: NextAttempt;
  /** True when the worker was lost: the next attempt counts one more loss. */
  readonly lost: boolean;
  /** True when nothing may be computed of its payload, because the database has refused to. */
  readonly untouched?: true;
}

/** When the next attempt is due. `never` buries the chain at once. */
export type NextAttempt =
  | { readonly kind: 'after-due'; readonly delayMs: number }
  | { readonly kind: 'after-failure'; readonly delayMs: number }
  | { readonly kind: 'at'; readonly date: Date }
  | { readonly kind: 'never' };

/** What became of a failure. */
export interface FailureOutcome {
  readonly id: string;
  /** Milliseconds until the next attempt is due; undefined when there is none. */
  readonly nextAttemptInMs: number | undefined;
  /** First attempt of the dead chain, when one was started. */
  readonly deadId: string | undefined;
}

/** Where an attempt stands for the worker that claimed it. `lost`: another one holds or held it since. */
export type AttemptOutcome = 'completed' | 'failed' | 'held' | 'lost';

export interface SettleAndClaimResult {
  /**
   * Ids of the completions that were written; undefined when all were. The others are lost, or were locked by
   * somebody else: {@link Storage.readHeld} tells.
   */
  readonly settledOnly: readonly string[] | undefined;
  readonly claimed: readonly ClaimedTask[];
  /**
   * Routes that gave less than they should, because somebody has locked their best attempts: what was not
   * claimed of them may be there for other routes. Always empty unless the shape was `counted`.
   */
  readonly lockedRoutes: readonly Route[];
  /** True when the shape was `single` though several stretches had attempts. */
  readonly contended: boolean;
  /** Set when there was less than could be taken: no attempt due before is left, but what is locked or unseen yet. */
  readonly exhaustedAt: string | undefined;
  /** True when workers of nsj-queue-lib have locked some of the best attempts. */
  readonly refused: boolean;
}

export interface PromoteResult {
  readonly promoted: number;
  /** When the first of those was due, as the database writes it. */
  readonly earliest: string | undefined;
  /**
   * Milliseconds until the next scheduled attempt is due, not above 0 when somebody has it locked; undefined when
   * none is scheduled.
   */
  readonly nextDueInMs: number | undefined;
  /** True when attempts are pending that are to be run alone. */
  readonly isolated: boolean;
}

/** What an idle worker asks. */
export interface NextDue {
  /** Milliseconds until an attempt is due, not above 0 when one is already; undefined when none waits. */
  readonly inMs: number | undefined;
  /** Routes with pending attempts, for a worker that finds out whether they are its own; empty for others. */
  readonly pending: readonly Route[];
  readonly holding: boolean;
  /** True when the worker was told to stop. */
  readonly halted: boolean;
}

/** One publication delivered: how many copies were made. */
export interface FanOutOutcome {
  readonly id: string;
  readonly deliveries: number;
}

/** A row that some worker holds. */
export interface HeldTask extends Claim {
  readonly workerId: WorkerId;
  readonly task: Task;
  readonly route: Route;
  readonly losses: number;
}

/** What a worker says of itself when it starts. */
export interface WorkerDescription {
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly concurrency: number;
  readonly routes: readonly Route[];
  /** Routes of which it handles dead attempts. */
  readonly deadRoutes: readonly Route[];
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
   * longer this worker's, with `TRANSACTION_BROKEN` when the handler ended or broke its transaction; in both
   * cases nothing it did is kept.
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

/** The transaction of a group did not end as it should, through no fault of the task that hears of it. */
export class GroupBroken extends Error {
  override readonly name = 'GroupBroken';
  /** True when what the task did is in the database all the same: another one has committed it. */
  readonly kept: boolean;

  constructor(message: string, { cause, kept = false }: { cause?: unknown; kept?: boolean } = {}) {
    super(message, { cause });
    this.kept = kept;
  }
}

/** Whether workers of nsj-queue-lib lock tasks where this library cannot see it. */
export interface ForeignLocks {
  /** What shows it, for people; undefined when nothing does. */
  readonly evidence: string | undefined;
  /** Sessions that do not show what they do, so that nothing can be said of them. */
  readonly hiddenSessions: number;
}

/**
 * The seam between the queue and its database: one sentence per method. Every state change is one guarded
 * statement; rows that changed meanwhile are simply absent from the answer.
 */
export interface Storage {
  /** Creates or checks table, columns, indexes, triggers and view; learns the queue's identity. */
  prepare(): Promise<void>;
  /** Writes down a starting worker; returns its id. */
  registerWorker(worker: WorkerDescription): Promise<WorkerId>;
  /**
   * Writes down that a worker has stopped, or that what it left was recovered; not while it holds attempts, which would
   * then be found late, and not of a lost one that is back.
   */
  retireWorker(workerId: WorkerId, why: 'stopped' | 'lost'): Promise<void>;
  /** Completes attempts and claims new ones, best first, in one statement and one commit; those of one lane in turn. */
  settleAndClaim(
    workerId: WorkerId,
    completions: readonly Completion[],
    request?: ClaimRequest,
    lane?: Lane,
  ): Promise<SettleAndClaimResult>;
  /**
   * Claims dead attempts, the oldest first, that no running worker has a handler for, wherever it is: at most `limit`.
   */
  claimUnattended(workerId: WorkerId, limit: number): Promise<readonly ClaimedTask[]>;
  /** Fails and buries pending attempts that cannot be sent to any client. */
  endUnreadable(workerId: WorkerId, among: UnreadableAmong): Promise<readonly UnreadableTask[]>;
  /** Undefined when that lane can send at once; otherwise opens what it sends through, and resolves when that is open. */
  laneOpening(lane: Lane): Promise<void> | undefined;
  /** Closes attempts as failed and inserts their next attempts or dead chains. */
  fail(failures: readonly Failure[]): Promise<readonly FailureOutcome[]>;
  /** Gives attempts back that were claimed but not started; returns the ids given back. */
  release(workerId: WorkerId, claims: readonly Claim[]): Promise<readonly string[]>;
  /** Makes due scheduled attempts pending, oldest first, at most `limit`; with 0 it only looks. */
  promote(limit: number): Promise<PromoteResult>;
  /**
   * When the next attempt is due that the worker serves, whether it was told to stop, and, if that is asked, whether it
   * holds any.
   */
  nextDue(workerId: WorkerId, asksHeld: boolean, served: ServedRoutes): Promise<NextDue>;
  /** True when an attempt waits that such a claim would take, unless somebody has it locked. */
  wouldClaim(request: ClaimRequest): Promise<boolean>;
  /** True when the worker was told to stop, in its row. */
  isHalted(workerId: WorkerId): Promise<boolean>;
  /** Routes whose attempts are to wait until somebody says otherwise. */
  pausedRoutes(): Promise<readonly Route[]>;
  /** Routes that have pending attempts now. */
  pendingRoutes(): Promise<readonly Route[]>;
  /**
   * Delivers publications to their subscriptions and completes them, all in one transaction; leaves out what is lost
   * or locked by somebody.
   */
  fanOut(workerId: WorkerId, publications: readonly Claim[]): Promise<readonly FanOutOutcome[]>;
  /** Reads the payload of an attempt, wherever in its chain it is stored. */
  loadPayload(id: string): Promise<string | null>;
  /** A transaction for one task, not opened yet. */
  transaction(workerId: WorkerId): TaskTransaction;
  /** A transaction for several tasks, not opened yet. */
  group(workerId: WorkerId): TaskGroup;
  /** Completes an attempt through a transaction of the user's own; rejects with `TASK_LOST`. */
  completeIn(tx: SqlHandle, workerId: WorkerId, completion: Completion): Promise<void>;
  /** What became of an attempt whose end is unknown, waiting for a commit still under way. */
  readOutcome(workerId: WorkerId, claim: Claim): Promise<AttemptOutcome>;
  /** Rows that a worker holds, a page of at most `limit`; when it is read as `lost`, none if it is missed no longer. */
  readHeld(workerId: WorkerId, limit: number, lost?: boolean): Promise<readonly HeldTask[]>;
  /**
   * With interop: gives back the task locks of attempts that the worker does not hold any more, and takes again those
   * that went with a connection. Answers false when somebody else has one of these: to be called again in a moment.
   */
  keepTaskLocks(workerId: WorkerId, held: readonly string[]): Promise<boolean>;
  /** With interop: looks for workers of nsj-queue-lib whose task locks are not in the database. */
  findForeignLocks(): Promise<ForeignLocks>;
  /** With interop: takes over running attempts, at most `limit`, that a worker of nsj-queue-lib has left. */
  takeOver(workerId: WorkerId, limit: number): Promise<readonly HeldTask[]>;
  /** The worker's claims of those attempts that it still holds. */
  stillHeld(workerId: WorkerId, ids: readonly string[]): Promise<readonly Claim[]>;
  /** Executors of running attempts that are no worker, or one that has stopped. Slow: it walks all running attempts. */
  unregisteredHolders(): Promise<readonly WorkerId[]>;
  /** Writes down which workers are missing; answers those that have been for so long, and were at an earlier look. */
  confirmLost(missing: readonly WorkerId[], missingForMs: number): Promise<readonly WorkerId[]>;
  /** Routes whose attempts are due and wait, but for paused ones, and whether a running worker serves each. */
  waitingRoutes(): Promise<readonly WaitingRoute[]>;
  /**
   * Makes the rows that are missing of subscriptions that have a topic; answers the row of each subscription that has one.
   * A row that is there stays as it is.
   */
  declareSubscriptions(declared: readonly DeclaredSubscription[]): Promise<readonly SubscriptionRow[]>;
  /** Makes the partitions that are needed next, where the queue has some. */
  makePartitions(): Promise<void>;
  /** Drops partitions of which all tasks may be deleted, where the queue has some. */
  dropPartitions(olderThanDays: number): Promise<PartitionPurge>;
  /** Looks at the next rows for attempts that may be deleted: those of tasks that are over and old. */
  findPurgeable(look: PurgeLook): Promise<PurgeableWindow>;
  /** Deletes those attempts whose whole tasks are among them and still may go; returns how many. */
  purge(ids: readonly string[]): Promise<number>;
  /** Forgets workers that stopped longer ago than that. */
  forgetWorkers(olderThanDays: number): Promise<void>;
  /** Closes all connections. */
  close(): Promise<void>;
}
