import type { SqlHandle } from '../storage/sql-handle.js';
import type { EndpointStore } from '../storage/endpoints.js';
import type { QueueTables } from '../storage/postgres/identifiers.js';
import type { SubscriptionStore } from '../storage/subscriptions.js';
import type { WaitingRoute } from '../storage/waiting-route.js';
import type { PayloadRules } from './edited-retry.js';
import type { TaskWaiter } from './task-waiter.js';

/** What a `QueueAdmin` works with. */
export interface QueueAdminParts {
  readonly handle: SqlHandle;
  readonly subscriptions: SubscriptionStore;
  readonly endpoints: EndpointStore;
  /**
   * Runs a change of a task that waits, or of many (undefined), in a transaction; beside workers of nsj-queue-lib in turn with
   * their notify job.
   */
  readonly change: <T>(id: string | undefined, work: (tx: SqlHandle) => Promise<T>) => Promise<T>;
  /** Checked against when a payload is edited. */
  readonly rules: PayloadRules;
  /** Runs its argument inside one transaction. */
  readonly transaction: <T>(work: (tx: SqlHandle) => Promise<T>) => Promise<T>;
  readonly tables: QueueTables;
  readonly waiter: TaskWaiter;
  /** Reads which routes have attempts that are due, and who serves them. */
  readonly waiting: () => Promise<readonly WaitingRoute[]>;
  /** Channel that the queue's workers listen on. */
  readonly channel: string;
  /** Runs a round of the purge. */
  readonly purge: () => Promise<number>;
}
