import type { BuriedChoice } from './buried.js';
import type { taskStates } from './columns.js';

/** What tasks can be asked for by: a status, or `retrying`. */
export type TaskStateName = (typeof taskStates)[number];

/** Which attempts are meant, checked; what is left out is not asked for. */
export interface TaskSelection {
  readonly states?: readonly TaskStateName[] | undefined;
  /** Null: tasks without one. */
  readonly topic?: string | null | undefined;
  readonly subscriptionId?: string | undefined;
  readonly externalKey?: string | undefined;
  /** A whole number as text. */
  readonly tenant?: string | undefined;
  readonly group?: string | undefined;
  /** Deliveries of this publication. */
  readonly publicationId?: string | undefined;
  /** Due at that time or later, in ISO 8601. */
  readonly since?: string | undefined;
  /** Due before that time. */
  readonly until?: string | undefined;
  readonly dead?: boolean | undefined;
  /** Text that the message holds, in any case. */
  readonly message?: string | undefined;
  /** Text that the payload holds, in any case. */
  readonly payload?: string | undefined;
  /** True for the last attempt of each task only. */
  readonly latest?: boolean | undefined;
  /** Tasks that gave up: out of attempts or buried, and not retried since. */
  readonly buried?: BuriedChoice | undefined;
  /** Attempts of these tasks, each named by the id of any of its attempts. */
  readonly ids?: readonly string[] | undefined;
}
