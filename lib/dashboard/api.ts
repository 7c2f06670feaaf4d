import type { RouteJson } from './route-json.js';
import type { QueueProblem } from '../admin/problems.js';
import type { DashboardAction } from '../options/dashboard-options.js';
import type { BuriedCounts } from '../storage/status-report.js';
import type { StoredStatus, TaskState } from '../task.js';

export type { DashboardAction };

// What the page asks for and is told, in JSON. Times are ISO text in UTC by the database's clock, durations are ms.
// Everything is below the dashboard's path: `api/…`; a refusal is a {@link RefusalJson} with a status of 4xx or 5xx.

/** What can be done with many tasks at once. */
export type BulkAction = Extract<DashboardAction, `${string}-all`>;

/** A dashboard of the same application, by the queue it is of. */
export interface QueueJson {
  readonly name: string;
  /** Of its dashboard, below the application's prefix, without slashes at its ends. */
  readonly path: string;
}

/** `GET api/info`: what this dashboard is of, and what it may. */
export interface InfoJson {
  /** Name of the queue in the application; `default` where it has one. */
  readonly queue: string;
  /** Every queue of the application that has a dashboard, this one too. */
  readonly queues: readonly QueueJson[];
  readonly table: string;
  readonly version: string;
  readonly actions: readonly DashboardAction[];
  /** False: payloads are not shown. */
  readonly payloads: boolean;
  readonly publications: boolean;
  readonly webhooks: boolean;
}

export interface CountJson extends RouteJson {
  readonly dead: boolean;
  /** `scheduled`: for its first attempt; `retrying`: failed, and scheduled for its next attempt; `pending`: due now. */
  readonly status: 'pending' | 'scheduled' | 'retrying' | 'processing';
  readonly count: number;
  /** True: there are at least that many. */
  readonly isCapped: boolean;
}

export interface RunningJson extends RouteJson {
  readonly id: string;
  /** Number of the task. */
  readonly firstAttemptId: string;
  readonly attempt: number;
  readonly dead: boolean;
  readonly startedAt: string;
  readonly runningMs: number;
  readonly workerId: string | null;
  readonly host: string | null;
  readonly pid: number | null;
}

export interface WorkerJson {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  /** Slots. */
  readonly concurrency: number;
  /** Slots that run something; counted among those listed as running. */
  readonly busy: number;
  /** Topics and subscriptions that it has handlers for. */
  readonly routes: readonly RouteJson[];
  /** True: it has a handler for every topic that none is declared for. */
  readonly takesAll: boolean;
  /** True: it sends webhooks, of whatever subscription. */
  readonly webhooks: boolean;
  readonly startedAt: string;
  readonly alive: 'lock' | 'lease' | false;
  /** The worker that has started it, where it is the process of a detached attempt; else null. */
  readonly parent: string | null;
  /** The file that the output of that process goes to. */
  readonly output: string | null;
}

export interface NextJson extends RouteJson {
  readonly id: string;
  /** Number of the task. */
  readonly firstAttemptId: string;
  readonly dead: boolean;
  readonly dueAt: string;
  /** Below 0 when it is late. */
  readonly inMs: number;
}

/** A value with its times as JSON has them. */
type InJson<Value> = Value extends unknown
  ? { readonly [Name in keyof Value]: Value[Name] extends Date ? string : Value[Name] }
  : never;

/** Something an operator should know, most urgent first. The page says it in words. */
export type ProblemJson = InJson<QueueProblem>;

/** `GET api/overview`, and every event `overview` of `api/stream`. */
export interface OverviewJson {
  readonly at: string;
  /**
   * Tasks that gave up, as they stand now: those that a dead handler has dealt with, and the others. They are listed by
   * `GET api/tasks?buried=treated` and `buried=untreated`. Null where that could not be read.
   */
  readonly buried: BuriedCounts | null;
  /** How long the task that is due for longest has waited: 0 when none waits. */
  readonly lagMs: number;
  readonly counts: readonly CountJson[];
  /** Those that run for longest, at most 50. */
  readonly running: readonly RunningJson[];
  readonly runningTotal: { readonly count: number; readonly isCapped: boolean };
  readonly workers: readonly WorkerJson[];
  /** The next ten. */
  readonly scheduled: readonly NextJson[];
  readonly paused: readonly (RouteJson & { readonly since: string })[];
  readonly problems: readonly ProblemJson[];
  readonly tableBytes: number | null;
  readonly liveRows: number | null;
}

/** What ended. Percentiles are null where nothing was measured. */
export interface EndedJson {
  readonly succeeded: number;
  /** Attempts that failed. */
  readonly failed: number;
  /** Tasks that ran out of attempts. */
  readonly buried: number;
  /** Publications that were delivered. */
  readonly delivered: number;
  readonly waitP50: number | null;
  readonly waitP95: number | null;
  readonly waitP99: number | null;
  readonly runP50: number | null;
  readonly runP95: number | null;
}

/** A stretch of time. */
export interface PointJson extends EndedJson {
  readonly at: string;
  /** How long the oldest pending task had waited; null where no sample was taken. */
  readonly lagMs: number | null;
}

/** A topic or subscription over the whole range. */
export interface RouteTotalsJson extends RouteJson, EndedJson {
  /** True for all those together that are too many to be told apart. */
  readonly isRest: boolean;
  /** Ended attempts of each point. */
  readonly ended: readonly number[];
}

/** `GET api/history?range=hour|day[&topic=…|&subscription=…]` (an empty `topic=` means tasks without one). */
export interface HistoryJson {
  readonly range: 'hour' | 'day';
  /** Of a point: a minute of an hour, ten minutes of a day. */
  readonly stepMs: number;
  /** All of the range, oldest first; the last one is not over yet. */
  readonly points: readonly PointJson[];
  /** The busiest first. */
  readonly routes: readonly RouteTotalsJson[];
}

/** `GET api/counts`: how many tasks there are of each status, by topic and subscription. */
export interface CountsJson {
  /** Those that have ended are counted as they stand now, and only when they were due since then. */
  readonly endedSince: string;
  readonly counts: readonly (Omit<CountJson, 'status'> & { readonly status: StoredStatus })[];
}

/** An attempt, without its payload. */
export interface TaskJson extends RouteJson {
  readonly id: string;
  /** Number of the task. */
  readonly firstAttemptId: string;
  readonly attempt: number;
  /** A word that another program wrote stands for itself. */
  readonly status: TaskState;
  readonly dead: boolean;
  readonly liveId: string | null;
  readonly publication: boolean;
  readonly publicationId: string | null;
  readonly externalKey: string | null;
  readonly tenant: string | null;
  readonly group: string | null;
  readonly origin: string | null;
  readonly destination: string | null;
  readonly priority: number;
  readonly firstDueAt: string;
  readonly dueAt: string;
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly nextAttemptAt: string | null;
  /** True when a next attempt was made from this one. */
  readonly retried: boolean;
  readonly exhausted: boolean;
  /** Who cancelled it; null unless its status is `cancelled`, and where nobody was named. */
  readonly cancelledBy: string | null;
  readonly message: TextJson | null;
  /** Columns whose bytes are not text: what is shown of them has these bytes escaped. */
  readonly unreadable: readonly string[];
}

/** A text, of which the end may be left out. */
export interface TextJson {
  readonly text: string;
  /** Characters that it has in all; more than `text` where that was cut. */
  readonly length: number;
}

/**
 * `GET api/tasks`, by any of `status` (several by commas; `scheduled`, `retrying`, `pending`, `processing`, `succeeded`,
 * `failed`), `topic`, `subscription`, `tenant`, `group`, `key`, `publication`, `message`, `payload` (text in it, in any case),
 * `since`, `until` (ISO), `dead` (`true`, `false`), `latest` (`true`: as each task stands now), `buried` (`true`: tasks that
 * gave up, as they stand now; `treated`, `untreated`: those that a dead handler has dealt with, or has not), `limit` (1 to 100, default 50), `after`. Newest first, except that of those which still wait or run all are looked at before what has ended.
 *
 * A page looks at a limited number of rows: it may have fewer tasks than `limit`, or none, and still a `next`.
 *
 * A search in payloads finds only what this dashboard would show: not what is redacted, and no payload of more than 64 KiB. It is
 * refused (403) where payloads are not shown, and told in an event.
 */
export interface TasksJson {
  readonly tasks: readonly TaskJson[];
  /** Ask on with `after`; null at the end. */
  readonly next: string | null;
  /** Which part of the table's history was looked at up to here: 0 to 1. */
  readonly searched: number;
}

/** `GET api/tasks/:id`, of any of its attempts. */
export interface TaskDetailsJson {
  /** As the task stands now. */
  readonly current: TaskJson;
  /** Oldest first; at most 200, the latest. */
  readonly attempts: readonly AttemptJson[];
  readonly attemptsTotal: number;
  readonly metadata: unknown;
  /** Its dead chains, each as it stands now. */
  readonly deadTasks: readonly TaskJson[];
  /** Of a dead task: the one that ran out of attempts. */
  readonly liveTask: TaskJson | null;
  /** Of a delivery: the publication it was made from. */
  readonly publication: TaskJson | null;
  /** Of a publication its deliveries; of a delivery the others. At most 100. */
  readonly deliveries: readonly TaskJson[];
  /** What can be done with it now, of what this dashboard may. */
  readonly actions: readonly DashboardAction[];
}

export interface AttemptJson extends TaskJson {
  readonly result: TextJson | null;
  /** The error with its stack and causes. */
  readonly error: TextJson | null;
}

/** `GET api/tasks/:id/payload`: asked for by hand, and told in an event. */
export interface PayloadJson {
  /** JSON with what the redaction rules name replaced; null also where it has too many `bytes` to be shown. Text other than JSON is left as it is. */
  readonly payload: TextJson | null;
  readonly isJson: boolean;
  /** Bytes that it has in the table. */
  readonly bytes: number;
  /** How many values were redacted. */
  readonly redacted: number;
  /** True when all of it is shown, so that it can be edited for `retry-edited`; never of a delivery. */
  readonly isWhole: boolean;
}

/** A schedule of `GET api/schedules`. What its task holds is not told. */
export interface ScheduleJson {
  readonly id: string;
  /** Of the task that it makes. */
  readonly topic: string | null;
  /** Null: by `every`. */
  readonly cron: string | null;
  /** Ms from one time to the next; null: by `cron`. */
  readonly every: number | null;
  /** Whose clocks `cron` goes by. */
  readonly timezone: string;
  /** True: code declares it. */
  readonly declared: boolean;
  /** `undeclared`: no running worker declares it any more; `ended`: it has no next time. */
  readonly status: 'active' | 'paused' | 'undeclared' | 'ended';
  readonly nextAt: string | null;
  /** The latest time that made a task. */
  readonly lastAt: string | null;
  /** How many times made no task. */
  readonly missed: number;
  readonly pausedAt: string | null;
}

/** `GET api/schedules`: all of them, by id. */
export interface SchedulesJson {
  readonly schedules: readonly ScheduleJson[];
}

export interface SubscriptionJson {
  readonly id: string;
  readonly topic: string;
  readonly tenant: string | null;
  readonly group: string | null;
  /** Without password and parameters' values. */
  readonly url: string | null;
  readonly httpMethod: string | null;
  /** Names; values are not told. */
  readonly headers: readonly string[];
  readonly active: boolean;
  /** True: a handler of this application declares it, and makes it again at the next start. Deactivate it instead of removing it. */
  readonly declared: boolean;
  readonly createdAt: string | null;
  readonly paused: boolean;
  /** Of the last hour. */
  readonly succeeded: number;
  readonly failed: number;
  readonly buried: number;
  readonly waitP95: number | null;
  readonly pending: number;
  readonly pendingIsCapped: boolean;
  /** Undefined where no webhook is delivered. */
  readonly endpoint: EndpointJson | null;
}

export interface EndpointJson {
  readonly failures: number;
  readonly failingSince: string | null;
  readonly lastSuccessAt: string | null;
  readonly restsUntil: string | null;
  readonly deactivatedAt: string | null;
  readonly deactivatedFor: string | null;
  readonly signed: boolean;
}

/** `GET api/subscriptions`; of one: `GET api/subscriptions/:id`. Its log is `GET api/tasks?subscription=…`. */
export interface SubscriptionsJson {
  readonly subscriptions: readonly SubscriptionJson[];
}

export type * from './actions-api.js';
export type * from './route-json.js';
