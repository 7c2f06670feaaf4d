import type { QueueDatabase } from '../storage/database.js';
import type { WorkerStall } from '../storage/status-report.js';
import type { QueueEvents } from '../events.js';
import type { PayloadRules } from './edited-retry.js';
import type { TaskWaiter } from './task-waiter.js';

export interface QueueAdminParts {
  readonly database: Pick<
    QueueDatabase,
    'admin' | 'reports' | 'workers' | 'subscriptions' | 'endpoints' | 'schedules' | 'inserts' | 'classify'
  >;
  /** Why the worker of this process takes nothing. */
  readonly stalled: () => WorkerStall | undefined;
  /** Checked against when a payload is edited. */
  readonly rules: PayloadRules;
  /** History older than this may have been purged. */
  readonly purgeMaxAgeDays: number;
  readonly waiter: TaskWaiter;
  readonly events: QueueEvents;
  /** Tells workers that schedules have changed. */
  readonly ring: () => Promise<void>;
  /** Runs a round of the purge. */
  readonly purge: () => Promise<number>;
}
