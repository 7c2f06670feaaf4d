import type { Nemesis } from '../nemesis/nemesis.js';
import type { Evidence, Violation } from '../oracles/oracle.js';
import type { ServerResources } from '../oracles/resources.js';
import type { HostileRow } from '../workload/hostile.js';
import type { ClientPool, QueueConnection } from './clients.js';

/** The databases that a run can be about. */
export type GroundName = 'postgres' | 'mariadb';

/** Rows that a worker holds. */
export interface Held {
  readonly worker: string;
  readonly rows: number;
}

/** A row that is held by a worker whose session holds no lock. */
export interface Orphan {
  readonly id: string;
  readonly reserva: number;
  readonly executor: string;
}

/**
 * What a run asks of its queue `tasks`, past all proxies. What says *patient* asks again and again while the server is down; the
 * rest fails then.
 */
export interface QueueQuestions {
  /** Attempts that have to end and have not yet. */
  countUnfinished(): Promise<number>;
  /** Workers with rows in flight. Patient. */
  held(): Promise<readonly Held[]>;
  /** Rows that a worker holds. Patient. */
  heldBy(workerId: string): Promise<readonly string[]>;
  /** Worker that has claimed a task last, by the task's key. Patient. */
  claimerOf(key: string): Promise<string | undefined>;
  /** Attempts that are not over and have no payload: violations of I12. */
  withoutPayload(): Promise<readonly Violation[]>;
  orphans(): Promise<readonly Orphan[]>;
  /** What recovery would meet: which of the rows nobody has locked, and what the table says of the workers. */
  explain(ids: readonly string[]): Promise<{
    readonly free: readonly string[];
    readonly workers: readonly string[];
  }>;
  /** Inserts tasks of different priorities and times, in no order, with keys that begin so. */
  insertUnordered(keys: string, count: number): Promise<void>;
  /** Lets the task of `recurring` recur, the first time then: ms since 1970. */
  recur(fromMs: number): Promise<void>;
  /** Ends that, unless a time is due; returns the first time that makes no task any more. */
  endRecurring(): Promise<number | undefined>;
  /** Hostile rows of an earlier time that stay for ever. Patient. */
  dropHostile(): Promise<void>;
  /** Inserts one as a program that knows nothing of the library; returns its id. Patient. */
  insertHostile(row: HostileRow): Promise<string>;
  /** Whether one of the rows is over. Patient. */
  isAnyOver(ids: readonly string[]): Promise<boolean>;
  /** Locks some of the rows that wait or run, but for those that are locked; returns their ids. */
  lockSome(on: QueueConnection, what: 'waiting' | 'running'): Promise<readonly string[]>;
  /** Connections and locks of the library. */
  resources(): Promise<ServerResources>;
}

/** The server of a run with the database of its queue: all that a run knows of it. */
export interface Ground {
  /** As reports name it. */
  readonly title: string;
  /** Address of the database for workers and producers. */
  readonly url: string;
  readonly isUp: boolean;
  start(): Promise<void>;
  /** In good order, and at once. */
  restart(): Promise<void>;
  /** `kill -9`. */
  crash(): Promise<void>;
  /** Past all proxies. */
  readonly clients: ClientPool;
  readonly ask: QueueQuestions;
  /** Faults of the server, and of the network to it. */
  readonly faults: readonly Nemesis[];
  /** Connections that an idle worker has at most, with a pool for handlers of that size. */
  mostConnections(poolSize: number): number;
  /** What the judges need beside the tables of the queue, which exist. */
  createJudgesTables(): Promise<void>;
  /** What the judges look at, once nothing runs any more: see schema.ts. */
  evidence(): Promise<Evidence['db']>;
  /** Ends everything. May be called again. */
  stop(): Promise<void>;
}
