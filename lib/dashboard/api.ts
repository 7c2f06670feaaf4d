import type { TaskStatus } from '../task.js';

// What the page asks for and is told, in JSON. Times are ISO text in UTC by the database's clock, durations are ms.
// Everything is below the dashboard's path: `api/…`; a refusal is `{ code, message }` with a status of 4xx or 5xx.

/** What can be done from the page, each a permission of its own. */
export type DashboardAction =
  'retry' | 'retry-all' | 'cancel' | 'bury' | 'run-now' | 'pause' | 'edit-subscription' | 'ping';

/** `GET api/info`: what this dashboard is of, and what it may. */
export interface InfoJson {
  /** Name of the queue in the application; `default` where it has one. */
  readonly queue: string;
  readonly table: string;
  readonly version: string;
  readonly actions: readonly DashboardAction[];
  /** False: payloads are not shown. */
  readonly payloads: boolean;
  readonly publications: boolean;
  readonly webhooks: boolean;
}

/** Names a topic or subscription; `subscriptionId` is null for tasks that are no delivery. */
export interface RouteJson {
  readonly topic: string | null;
  readonly subscriptionId: string | null;
}

export interface CountJson extends RouteJson {
  readonly dead: boolean;
  readonly status: 'pending' | 'scheduled' | 'processing';
  readonly count: number;
  /** True: at least so many. */
  readonly isCapped: boolean;
}

export interface RunningJson extends RouteJson {
  readonly id: string;
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
  /** Topics and subscriptions that it has handlers for; `takesAll` where it also takes (and fails) others. */
  readonly routes: readonly RouteJson[];
  readonly takesAll: boolean;
  readonly startedAt: string;
  readonly alive: 'lock' | 'lease' | false;
}

export interface NextJson extends RouteJson {
  readonly id: string;
  readonly dead: boolean;
  readonly dueAt: string;
  /** Below 0 when it is late. */
  readonly inMs: number;
}

/** Something an operator should know, most urgent first. The page says it in words. */
export type ProblemJson =
  | (RouteJson & {
      readonly kind: 'no-worker';
      readonly waitingMs: number;
      readonly count: number;
      readonly isCapped: boolean;
    })
  | (RouteJson & { readonly kind: 'paused'; readonly since: string; readonly count: number })
  | (RouteJson & { readonly kind: 'unknown-handler'; readonly failures: number })
  | (RouteJson & { readonly kind: 'failing'; readonly failed: number; readonly ended: number })
  | {
      readonly kind: 'lag-growing';
      readonly lagMs: number;
      readonly beforeMs: number;
      readonly overMs: number;
    }
  | {
      readonly kind: 'old-snapshot';
      readonly sinceMs: number | null;
      readonly transactions: number;
      readonly holder: string;
    }
  | {
      readonly kind: 'open-circuit';
      readonly subscriptionId: string;
      readonly until: string;
      readonly failures: number;
    }
  | { readonly kind: 'deactivated'; readonly subscriptionId: string; readonly reason: string }
  | { readonly kind: 'lost-worker'; readonly workerId: string; readonly host: string; readonly pid: number }
  | { readonly kind: 'late-scheduled'; readonly lateMs: number }
  | { readonly kind: 'unread'; readonly section: string; readonly reason: string };

/** `GET api/overview`, and every event `overview` of `api/stream`. */
export interface OverviewJson {
  readonly at: string;
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
  /** How long the oldest pending task had waited; null where nobody looked. */
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

/** An attempt, without its payload. */
export interface TaskJson extends RouteJson {
  readonly id: string;
  readonly firstAttemptId: string;
  readonly attempt: number;
  readonly status: TaskStatus;
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
  readonly message: TextJson | null;
}

/** A text, of which the end may be left out. */
export interface TextJson {
  readonly text: string;
  /** Characters that it has in all; more than `text` where that was cut. */
  readonly length: number;
}

/**
 * `GET api/tasks`, by any of `status` (several by commas), `topic`, `subscription`, `tenant`, `group`, `key`, `publication`,
 * `message`, `since`, `until` (ISO), `dead` (`true`, `false`), `latest` (`true`: as each task stands now), `limit` (1 to 100,
 * default 50), `after`. Newest first, except that of those which still wait or run all are looked at before what has ended.
 *
 * A page looks at so many rows only: it may have fewer tasks than `limit`, or none, and still a `next`.
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
  /** The whole error with its stack. */
  readonly error: TextJson | null;
}

/** `GET api/tasks/:id/payload`: asked for by hand, and told in an event. */
export interface PayloadJson {
  /** JSON with what the redaction rules name replaced; null also where it has too many `bytes` to be shown. Text that is no JSON is left as it is. */
  readonly payload: TextJson | null;
  readonly isJson: boolean;
  /** Bytes that it has in the table. */
  readonly bytes: number;
  /** How many values were redacted. */
  readonly redacted: number;
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

// Actions: `POST api/actions/<action>` with JSON and the header `x-tarefa-dashboard: 1`; each answers `{}` unless it says
// otherwise.
//
// - `retry`, `cancel`, `bury`, `run-now`: `{ id, reason? }`. Retry answers `{ id }` of the new attempt, bury that of the dead
//   task.
// - `pause`: `{ topic, paused }` (null: tasks without one) or `{ subscriptionId, paused }`; `paused: false` resumes.
// - `retry-all/count`: `{ filter }`, with the parameters of `GET api/tasks`: which failed tasks are meant.
// - `retry-all`: `{ filter, lastId, after }`: the next block of them; begin with `after: '0'`.
// - `edit-subscription`: `{ id, topic?, tenant?, group?, url?, httpMethod?, headers?, active? }`: what is left out stays as it
//   is; headers are given all together. Answers {@link SubscriptionJson}.
// - `ping`: `{ id }` of a subscription: sends a signed test request.

/** Of `retry-all/count`. */
export interface RetryPlanJson {
  readonly total: number;
  readonly counts: readonly (RouteJson & { readonly count: number })[];
  readonly lastId: string;
}

/** Of `retry-all`. */
export interface RetryBlockJson {
  readonly retried: number;
  /** Ask on with it; null when all are done. */
  readonly after: string | null;
}

/** Of `ping`. */
export interface PingJson {
  readonly ok: boolean;
  readonly status: number | null;
  readonly durationMs: number | null;
  readonly failure: string | null;
}

export interface RefusalJson {
  readonly code: string;
  readonly message: string;
}
