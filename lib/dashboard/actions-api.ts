import type { RouteJson } from './route-json.js';

// Actions: `POST api/actions/<action>` with JSON and the header `x-tarefa-dashboard: 1`; each answers `{}` unless it says
// otherwise.
//
// - `retry`, `cancel`, `bury`, `run-now`: `{ id, reason? }`. Retry answers `{ id }` of the new attempt, bury that of the dead
//   task; cancel answers `{ stopping }`: true of a task that runs, which was asked to stop.
// - `retry-edited`: `{ id, payload, reason? }` retries a failed task with another payload, and answers `{ id }`. `payload` is the
//   whole text. Where it still says `[redacted]` as `GET api/tasks/:id/payload` did, the stored value stays.
// - `delete`: `{ id }` deletes a task that does not run, with all its attempts and dead tasks, and answers `{ attempts }`: how
//   many rows. Deliveries of a publication stay.
// - `insert`: {@link InsertJson} answers `{ id }`.
// - `pause`: `{ topic, paused }` (null: tasks without one) or `{ subscriptionId, paused }`; `paused: false` resumes.
// - `run-schedule`: `{ id }` inserts the task of a schedule, besides its times, and answers `{ id }` of the task; 409
//   `TASK_DUPLICATE` while the one before has not ended and must not overlap.
// - `pause-schedule`: `{ id, paused }`; `paused: false` resumes.
// - `retry-all`, `cancel-all`, `delete-all`: see {@link BulkScopeJson}.
// - `add-subscription`: `{ id, topic, tenant?, group?, url?, httpMethod?, headers?, active? }` answers `SubscriptionJson`.
// - `edit-subscription`: the same; what is left out stays as it is; headers are given all together.
// - `remove-subscription`: `{ id }`; 409 `SUBSCRIPTION_DECLARED` for one that a handler declares.
// - `create-secret`: `{ id }` of a subscription: makes a signing secret, and answers `{ secret }`, this once.
// - `ping`: `{ id }` of a subscription: sends a signed test request.

/** Of `insert`: a task, checked as `QueueClient.insertTask()` checks it. */
export interface InsertJson {
  readonly topic?: string | null;
  /** Text as it is stored; what is JSON is checked by the topic's schema as JSON. */
  readonly payload?: string | null;
  /** True: a publication to the subscriptions of its topic. Default false. */
  readonly publication?: boolean;
  readonly delayMs?: number | null;
  /** ISO 8601 with its time zone, instead of `delayMs`. */
  readonly runAt?: string | null;
  readonly priority?: number | null;
  readonly externalKey?: string | null;
  readonly origin?: string | null;
  readonly destination?: string | null;
  readonly tenant?: string | null;
  readonly group?: string | null;
}

/**
 * Which tasks a `BulkAction` means: `ids` of any of their attempts (at most 1,000), or a `filter` with the parameters of
 * `GET api/tasks` but `payload`. Of these, `retry-all` means those that have failed, and cancelled ones only where the
 * filter's `status` names them; `cancel-all` those that wait, and `delete-all` those that do not run.
 *
 * 1. `POST api/actions/<action>/count` with it answers {@link BulkPlanJson}. Nothing is done yet.
 * 2. `POST api/actions/<action>` with it, `lastId` of the count and `after` (`'0'`, then that of the answer before) does one
 *    block, and answers {@link BulkBlockJson}. A client that stops asking stops it; what was done stays.
 */
export type BulkScopeJson =
  | { readonly filter: Readonly<Record<string, string>>; readonly ids?: undefined }
  | { readonly ids: readonly string[]; readonly filter?: undefined };

/** Of `<bulk action>/count`. */
export interface BulkPlanJson {
  readonly total: number;
  readonly counts: readonly (RouteJson & { readonly count: number })[];
  readonly lastId: string;
}

/** Of a bulk action. Tasks that are changed elsewhere meanwhile are left out. */
export interface BulkBlockJson {
  /** Tasks of this block. */
  readonly done: number;
  /** Ask on with it; null when all are done. */
  readonly after: string | null;
  /** A task that stays as it is because a constraint or a trigger refuses its change. */
  readonly refused?: { readonly id: string; readonly message: string } | undefined;
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

/** Why something was not done. */
export interface RefusalJson {
  readonly code: string;
  /** In English. */
  readonly message: string;
  /** What is needed to say it in another language: `id`, `action`, the `status` of the task, the database's own `reason`. */
  readonly values: Readonly<Record<string, string>>;
}
