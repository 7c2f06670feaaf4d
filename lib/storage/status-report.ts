import type { TaskState } from '../task.js';
import type { WorkerId } from './attempt.js';
import type { Pause } from './pause.js';

/** A count that may have stopped at a limit: then there are at least that many. */
export interface CappedCount {
  readonly count: number;
  readonly isCapped: boolean;
}

/** Tasks that gave up, as they stand now: they ran out of attempts, or were buried, and were not retried since. */
export interface BuriedCounts {
  /** Those that a dead handler has dealt with. */
  readonly treated: number;
  /** The others: no dead handler was there, none has succeeded yet, or the dead task itself is not there. */
  readonly untreated: number;
  /** True: no more than the latest were looked at, so there may be more of either. */
  readonly isCapped: boolean;
}

/** How many attempts of a topic or subscription stand there. */
export interface StatusCount extends CappedCount {
  readonly topic: string | null;
  /** Null for tasks that are not deliveries. */
  readonly subscriptionId: string | null;
  readonly dead: boolean;
  readonly status: TaskState;
  /** When the first of them is or was due; null where that was not read. */
  readonly oldestDueAt: Date | null;
}

/** An attempt by name. */
export interface StatusTask {
  readonly id: string;
  /** Number of its task. */
  readonly firstAttemptId: string;
  readonly topic: string | null;
  readonly subscriptionId: string | null;
  readonly dead: boolean;
}

/** A pending attempt, and how long it has waited. */
export interface PendingTask extends StatusTask {
  readonly dueAt: Date;
  readonly waitingMs: number;
}

/** The task that has waited for longest on its way: that of a topic, a subscription, or of all publications. */
export interface WaitingRoute extends StatusTask {
  readonly publication: boolean;
  readonly waitingMs: number;
}

/** A topic or subscription whose tasks wait while no living worker serves them. Both names are null for tasks without a topic. */
export interface UnservedCount extends CappedCount {
  readonly topic: string | null;
  readonly subscriptionId: string | null;
  readonly waitingMs: number;
}

/** A subscription without a URL that no living worker has a method for. */
export interface UnheardSubscription {
  readonly id: string;
  readonly topic: string;
  /** False: publications make no delivery for it. */
  readonly active: boolean;
}

/** A scheduled attempt, and when it is due. */
export interface NextTask extends StatusTask {
  readonly dueAt: Date;
  /** Below 0 when it is late. */
  readonly inMs: number;
}

/** An attempt that runs, and where. */
export interface RunningTask extends StatusTask {
  readonly attempt: number;
  readonly startedAt: Date;
  readonly runningMs: number;
  /** Null where another program than this library runs it. */
  readonly workerId: string | null;
  readonly host: string | null;
  readonly pid: number | null;
}

/** A worker that has not said that it stopped. */
export interface WorkerStatus {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly concurrency: number;
  readonly routes: readonly string[];
  readonly startedAt: Date;
  /** What says that it lives: its session's lock, a lease, or nothing: then recovery will call it lost. */
  readonly alive: 'lock' | 'lease' | false;
  readonly missedAt: Date | null;
  /** The worker that has started it, where it is the process of a detached attempt; else null. */
  readonly parent: string | null;
  /** The file that the output of that process goes to. */
  readonly output: string | null;
}

/** Why a worker takes no tasks, and for how long it has taken none. */
export interface WorkerStall {
  readonly workerId: WorkerId;
  readonly reason: string;
  readonly forMs: number;
}

/** What the queue's table and its indexes take on disk. */
export interface TableSize {
  readonly tableBytes: number;
  readonly indexBytes: number;
  /** By the statistics of PostgreSQL. */
  readonly liveRows: number;
  readonly deadRows: number;
  /** 0 when the table is in one piece. */
  readonly partitions: number;
  readonly vacuumedAt: Date | null;
  readonly analyzedAt: Date | null;
  readonly indexes: readonly { readonly name: string; readonly bytes: number; readonly valid: boolean }[];
}

/** Who keeps dead rows from being removed. */
export interface SnapshotHolder {
  readonly kind: 'session' | 'replication slot' | 'prepared transaction';
  readonly pid: number | null;
  /** Of a slot or a prepared transaction. */
  readonly name: string | null;
  readonly applicationName: string | null;
  readonly user: string | null;
  /** As PostgreSQL says it: `idle in transaction`, `active`. */
  readonly state: string | null;
  /** Since when its transaction is open; null of a slot. */
  readonly since: Date | null;
  readonly sinceMs: number | null;
  /** How many transactions have begun since. */
  readonly transactions: number;
}

/** A part of the report that could not be read. */
export interface UnknownSection {
  readonly section: string;
  readonly reason: string;
}

/** How a queue stands. */
export interface StatusReport {
  readonly table: string;
  /** By the database's clock. */
  readonly at: Date;
  /** What the server is, and its version: `PostgreSQL 18.0`. */
  readonly serverVersion: string;
  /** What has ended is counted when it was due since then. */
  readonly endedSince: Date;
  readonly counts: readonly StatusCount[];
  /** Of all times, the latest. Null when that could not be read. */
  readonly buried: BuriedCounts | null;
  readonly oldestPending: PendingTask | null;
  /** The task that has waited for longest of each topic and subscription. */
  readonly waiting: readonly WaitingRoute[];
  /** Of those, what no living worker serves; empty with `interop`, as workers of nsj-queue-lib register nowhere. */
  readonly unserved: readonly UnservedCount[];
  /** Active subscriptions without a URL that no living worker serves, at most 200; empty with `interop`. */
  readonly unheard: readonly UnheardSubscription[];
  /** How long the task that is due for longest has waited, in ms: 0 when none waits. */
  readonly lagMs: number;
  readonly nextScheduled: NextTask | null;
  /** Those that have run for longest. */
  readonly running: readonly RunningTask[];
  readonly runningTotal: CappedCount;
  readonly workers: readonly WorkerStatus[];
  readonly paused: readonly Pause[];
  /** Rows of the history that the queue's own rules would delete now; null when that was not read. */
  readonly purgeable: CappedCount | null;
  readonly purgeMaxAgeDays: number;
  readonly size: TableSize | null;
  /** Null when no session holds one. */
  readonly oldestSnapshot: SnapshotHolder | null;
  /** False: sessions of other roles show no snapshot; that takes `pg_read_all_stats`, on MySQL and MariaDB the right `process`. */
  readonly seesAllSessions: boolean;
  /** How full the server's queue of notifications is, from 0 to 1; null where it has none. */
  readonly notifyUsage: number | null;
  readonly unknown: readonly UnknownSection[];
}
