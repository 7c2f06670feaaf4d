import type { AdapterSettings } from './adapter-settings.js';

/** A job of the harness: one JSON payload of about `JOB_PAYLOAD_BYTES`. */
export interface Job {
  readonly seq: number;
  /** By the wall clock, which the inserting and the working process share. */
  readonly insertedAtMs: number;
  readonly padding: string;
}

/** What the startup record tells about a system. */
export interface SystemFacts {
  readonly system: string;
  readonly version: string;
  readonly schemaVersion: string | null;
  /** Tables whose dead rows count; the first is the one that active readers scan. */
  readonly eventTables: readonly string[];
  readonly extensions: readonly string[];
}

/** One job queue as an adapter of the public harness drives it, by its public interface only. */
export interface HarnessedQueue {
  readonly facts: SystemFacts;
  /** Inserts the jobs by one bulk call into the queue of this number. */
  insert(jobs: readonly Job[], queue: number): Promise<unknown>;
  /** Starts working; `run` is one job's handler. */
  work(run: (job: Job) => Promise<void>): Promise<void>;
  /** Jobs that wait and nobody has claimed. */
  depth(): Promise<number>;
  /** Stops working and disconnects, within `stopLimitMs`. */
  stop(stopLimitMs: number): Promise<void>;
}

/** The one export of a system's module: makes its tables when they are missing, and connects. */
export type OpenHarnessedQueue = (settings: AdapterSettings) => Promise<HarnessedQueue>;
