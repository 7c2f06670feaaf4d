import type { Route, WorkerId } from './attempt.js';

/** How long a lease lasts. */
export const leaseMs = 10_000;

/**
 * How long that of a detached worker lasts, which is the longest: what it has done for hours is not lost by a network that is gone
 * for a moment. One that ends later than that from now was renewed before the server's clock was set back, and says nothing of its worker.
 */
export const longestLeaseMs = 60_000;

/** What a worker says of itself when it starts. */
export interface WorkerDescription {
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly concurrency: number;
  readonly routes: readonly Route[];
  /** Routes of which it handles dead attempts. */
  readonly deadRoutes: readonly Route[];
  /** Schedules that its code declares. Default: none. */
  readonly schedules?: readonly string[] | undefined;
  /** Of a process that runs one attempt and may outlive who has started it. */
  readonly detached?: DetachedDescription | undefined;
}

/** What a detached worker also says of itself. */
export interface DetachedDescription {
  /** The worker that has started it. */
  readonly parent: WorkerId;
  /** The file that its output goes to. */
  readonly output: string;
}

/** A detached worker at work. */
export interface DetachedWorkerRow {
  /** Of the attempt that it runs. */
  readonly route: Route;
  /** Process of its parent; undefined when that has stopped. */
  readonly parentPid: number | undefined;
}

/** A look for lost workers. */
export interface LookForMissing {
  readonly looker: WorkerId;
  /** Asked about besides those that have started and not stopped. */
  readonly others: readonly WorkerId[];
  readonly graceMs: number;
  /** Sent by the same statement where other workers run: they need not look then. */
  readonly ring?: { readonly channel: string; readonly text: string } | undefined;
}

/** What a look for lost workers finds. */
export interface MissingWorkers {
  /** Those whose liveness is not held. */
  readonly missing: readonly WorkerId[];
  /** True when the table marks any worker as missing. */
  readonly noted: boolean;
  /** True when other workers have started and not stopped. */
  readonly hasOthers: boolean;
  /** The database's clock, in ms since 1970. */
  readonly atMs: number;
  /** How full the server's queue of notifications is, from 0 to 1; undefined where it has none. */
  readonly notifyUsage: number | undefined;
}

/** The only writer of the table of workers. */
export interface WorkerRegistry {
  /** Writes down a starting worker; returns its id, by which nobody holds attempts, whatever became of their worker's row. */
  register(worker: WorkerDescription): Promise<WorkerId>;
  /** Forgets a worker that did not start: its id is another one's. */
  withdraw(workerId: WorkerId): Promise<void>;
  /**
   * Writes a running worker down again whose row was deleted, and makes the key again that deliveries are sealed with if that is gone
   * as well; rows that are there stay as they are. A role that may not make the key leaves it to the next start.
   */
  restore(workerId: WorkerId, worker: WorkerDescription): Promise<void>;
  /**
   * Writes down that a worker has stopped, or that what it left was recovered; not while it holds attempts, which would
   * then be found late, and not of a lost one that is back.
   */
  retire(workerId: WorkerId, why: 'stopped' | 'lost'): Promise<void>;
  /** Tells all workers that run now to stop after their current work; returns their ids. */
  haltAll(): Promise<readonly WorkerId[]>;
  /** True when the worker was told to stop, in its row; undefined when it has none any more. */
  isHalted(workerId: WorkerId): Promise<boolean | undefined>;
  /** The detached workers of a host that run an attempt. */
  detachedOn(host: string): Promise<readonly DetachedWorkerRow[]>;
  /**
   * Executors of running attempts that are not workers, or have stopped; undefined stands for those that name none. Slow: it walks all
   * running attempts.
   */
  unregisteredHolders(): Promise<readonly (WorkerId | undefined)[]>;
  /** A worker that may have been called lost lives. */
  revive(workerId: WorkerId): Promise<void>;
  /** Holds a worker's place for a time, at most {@link longestLeaseMs}, where no session of its own shows that it lives. */
  renewLease(workerId: WorkerId, forMs: number): Promise<void>;
  /** Runs `work` unless another worker runs that routine now, in a transaction that lasts as long; undefined when one does. */
  runAlone<T>(routine: string, work: () => Promise<T>): Promise<T | undefined>;
  /**
   * Which of the workers that have started and not stopped, and of some others, hold neither lock nor lease; undefined
   * while the server has run for less than `graceMs`.
   */
  findMissing(look: LookForMissing): Promise<MissingWorkers | undefined>;
  /**
   * Marks which workers are missing; returns those that have been for that long, and were at an earlier look. A mark from the
   * future, as a clock that is set back leaves it, starts over.
   */
  confirmLost(missing: readonly WorkerId[], missingForMs: number): Promise<readonly WorkerId[]>;
  /** Forgets workers that stopped longer ago than that. */
  forget(olderThanDays: number): Promise<void>;
}
