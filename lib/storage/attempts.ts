import type {
  AttemptOutcome,
  Claim,
  Failure,
  FailureOutcome,
  FanOutOutcome,
  HeldTask,
  NextDue,
  PromoteResult,
  ProgressNote,
  PublicationClaim,
  Route,
  StandingClaim,
  UnfollowedAttempt,
  WorkerId,
} from './attempt.js';
import type { AwaitedRoutes, RouteHead, RouteRange, WaitingRoute } from './waiting-route.js';

/**
 * What becomes of attempts: one sentence per method, one commit each. Rows that changed meanwhile are absent from the
 * answer.
 */
export interface AttemptStore {
  /** Closes attempts as failed and inserts their next attempts or dead chains; those that were cancelled have neither. */
  failMany(failures: readonly Failure[]): Promise<readonly FailureOutcome[]>;
  /** Lets attempts wait until their `next`, as they are; ends those that were cancelled. */
  snoozeMany(snoozed: readonly Failure[]): Promise<readonly FailureOutcome[]>;
  /** Writes messages of attempts that run and were not cancelled; leaves out rows that another session has locked. */
  noteProgress(workerId: WorkerId, notes: readonly ProgressNote[]): Promise<void>;
  /** Gives attempts back that were claimed but not started, and ends those that were cancelled; returns the ids. */
  releaseMany(workerId: WorkerId, claims: readonly Claim[]): Promise<readonly string[]>;
  /**
   * Gives a running attempt to another worker, which holds it by the same claim; false when neither holds it, or it was cancelled.
   * May be repeated: what the other one has already stays there.
   */
  handOver(claim: Claim, from: WorkerId, to: WorkerId): Promise<boolean>;
  /**
   * Delivers publications to their subscriptions and completes them, all in one transaction; leaves out what is lost
   * or locked by another session, and what waits for a subscription.
   */
  fanOutMany(
    workerId: WorkerId,
    publications: readonly PublicationClaim[],
  ): Promise<readonly FanOutOutcome[]>;
  /** Makes due scheduled attempts pending, oldest first, at most `limit`; with 0 it only looks. */
  promote(limit: number): Promise<PromoteResult>;
  /**
   * When the next attempt is due that the worker serves, whether it was told to stop, and, if that is asked, whether it
   * holds any.
   */
  nextDue(workerId: WorkerId, asksHeld: boolean, awaited: AwaitedRoutes): Promise<NextDue>;
  /** Reads the payload of an attempt, wherever in its chain it is stored. */
  loadPayload(id: string): Promise<string | null>;
  /** What became of an attempt whose end is unknown, waiting for a commit still under way. */
  readOutcome(workerId: WorkerId, claim: Claim): Promise<AttemptOutcome>;
  /** The worker's claims of those attempts that it still holds, or has completed. */
  standing(workerId: WorkerId, ids: readonly string[]): Promise<readonly StandingClaim[]>;
  /** Attempts that a worker holds, a page of at most `limit`; read as `lost`, it is empty once the worker is back. */
  heldBy(workerId: WorkerId, limit: number, lost?: boolean): Promise<readonly HeldTask[]>;
  /** Which of some attempts have failed and lack their next attempt, or their dead task. */
  findUnfollowed(ids: readonly string[]): Promise<readonly UnfollowedAttempt[]>;
  /**
   * Inserts next attempts that are missing, each due when its attempt said; leaves out what was due already and so may have run,
   * and what another session has locked.
   */
  insertNext(ids: readonly string[]): Promise<void>;
  /** Routes whose attempts are to wait until they are resumed. */
  pausedRoutes(): Promise<readonly Route[]>;
  /** Routes in some ranges that have pending attempts now, each with its best one: the first `limit`, in the order of the ranges. */
  routeHeads(ranges: readonly RouteRange[], limit: number): Promise<readonly RouteHead[]>;
  /** Routes whose attempts are due and wait, except paused ones, and whether a running worker serves each. */
  waitingRoutes(): Promise<readonly WaitingRoute[]>;
}
