import type { Route, WorkerId } from './attempt.js';

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

/** The only writer of the table of workers. */
export interface WorkerRegistry {
  /** Writes down a starting worker; returns its id. */
  register(worker: WorkerDescription): Promise<WorkerId>;
  /**
   * Writes down that a worker has stopped, or that what it left was recovered; not while it holds attempts, which would
   * then be found late, and not of a lost one that is back.
   */
  retire(workerId: WorkerId, why: 'stopped' | 'lost'): Promise<void>;
  /** Tells all workers that run now to stop after their current work; answers their ids. */
  haltAll(): Promise<readonly WorkerId[]>;
  /** True when the worker was told to stop, in its row. */
  isHalted(workerId: WorkerId): Promise<boolean>;
  /** Executors of running attempts that are no worker, or one that has stopped. Slow: it walks all running attempts. */
  unregisteredHolders(): Promise<readonly WorkerId[]>;
  /** Marks which workers are missing; answers those that have been for that long, and were at an earlier look. */
  confirmLost(missing: readonly WorkerId[], missingForMs: number): Promise<readonly WorkerId[]>;
  /** Forgets workers that stopped longer ago than that. */
  forget(olderThanDays: number): Promise<void>;
}
