import type { Task } from '../task.js';
import type { Cancellation } from './cancellation.js';

/** Id of a running worker, as `executor` in the rows it holds. */
export type WorkerId = string;

/** What makes an attempt this worker's: written by the claim, demanded by every later statement. */
export interface Claim {
  readonly id: string;
  /** Claim counter of the row (`reserva`): with the worker id the fencing token. */
  readonly reservation: number;
}

/** The claim of a publication. */
export interface PublicationClaim extends Claim {
  /** True: while no subscription matches it is left as it is, in place of being discarded. Default: false. */
  readonly waits?: boolean;
}

/** A claim that still holds. */
export interface StandingClaim extends Claim {
  /** True when the attempt was cancelled: its handler is to stop. */
  readonly cancelled: boolean;
  /** True when this claim has completed it: it is held no more, and nobody else has it. */
  readonly completed: boolean;
}

/** An attempt just claimed. */
export interface ClaimedTask extends Claim {
  readonly task: Task;
  readonly route: Route;
  readonly publication: boolean;
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
  /** Which attempts of the route. Default: undefined, which is both. */
  readonly only?: 'live' | 'dead' | undefined;
}

/** How an attempt ended well. */
export interface Completion extends Claim {
  readonly message: string;
  readonly result: string | null;
}

/** What a handler says of a running attempt. */
export interface ProgressNote extends Claim {
  readonly message: string;
}

/** What follows a failed attempt. */
export interface Verdict {
  /** When the next attempt is due; undefined when the chain is buried. */
  readonly next: RetryTime | undefined;
  /** Workers lost in a row before the next attempt. */
  readonly nextLosses: number;
  /** Ends the attempt's message. */
  readonly note: string;
}

/** How an attempt ended badly, and what follows it: the verdict of `failure-rule.ts`. */
export interface Failure extends Claim, Verdict {
  /** Worker that holds the row: this one, or a lost one when it is recovered. */
  readonly workerId: WorkerId;
  /** Without the note, which the database adds when it cuts the message to its column. */
  readonly message: string;
  /** Whole error text with stack. */
  readonly error: string | null;
  /** True when it has not failed: it waits until `next` and stays the same attempt. */
  readonly snoozed?: true;
  /** True when nothing may be computed of its payload, because the database has refused to. */
  readonly untouched?: true;
}

/** When a next attempt is due. Delays are added by the database's clock. */
export type RetryTime =
  | { readonly kind: 'after-due'; readonly delayMs: number }
  | { readonly kind: 'after-failure'; readonly delayMs: number }
  | { readonly kind: 'at'; readonly date: Date };

/** When an attempt that fails wants its next one. `never` buries the chain at once. */
export type NextAttempt = RetryTime | { readonly kind: 'never' };

/** What became of a failure. */
export interface FailureOutcome {
  readonly id: string;
  /** Milliseconds until the next attempt is due; undefined when there is none. */
  readonly nextAttemptInMs: number | undefined;
  /** True when it waits for that time as the same attempt. */
  readonly snoozed?: true;
  /** First attempt of the dead chain, when one was started. */
  readonly deadId: string | undefined;
  /** Who had cancelled it while it ran: then nothing follows it. */
  readonly cancelled?: Cancellation | undefined;
}

/** An attempt that has failed without what must follow it. */
export interface UnfollowedAttempt {
  readonly id: string;
  readonly kind: 'no-next-attempt' | 'no-dead-task';
}

/** Where an attempt stands for the worker that claimed it. `lost`: another one holds or held it since. */
export type AttemptOutcome = 'completed' | 'failed' | 'held' | 'lost';

/** A row that some worker holds. */
export interface HeldTask extends Claim {
  readonly workerId: WorkerId;
  readonly task: Task;
  readonly route: Route;
  readonly losses: number;
}

/** One publication delivered: how many copies were made. */
export interface FanOutOutcome {
  readonly id: string;
  readonly deliveries: number;
}

export interface PromoteResult {
  readonly promoted: number;
  /** When the first of those was due, in ms since 1970; undefined when none was promoted. */
  readonly earliestMs: number | undefined;
  /**
   * Milliseconds until the next scheduled attempt is due, not above 0 when another session has it locked; undefined when
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
  /** True when the worker was told to stop, undefined when its row was deleted. */
  readonly halted: boolean | undefined;
}
