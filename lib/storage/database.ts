import type { TarefaError } from '../errors.js';
import type { TaskAdmin } from './admin.js';
import type { AttemptStore } from './attempts.js';
import type { WorkerId } from './attempt.js';
import type { Claims, ClaimsOptions } from './claims.js';
import type { EndpointStore } from './endpoints.js';
import type { ErrorKind } from './error-kind.js';
import type { TaskInserts } from './inserts.js';
import type { Interop } from './interop.js';
import type { QueueReports } from './reports.js';
import type { RowsApart } from './rows-apart.js';
import type { ScheduleStore } from './schedules.js';
import type { SubscriptionStore } from './subscriptions.js';
import type { TaskTransactions } from './transactions.js';
import type { Upkeep } from './upkeep.js';
import type { WorkerRegistry } from './workers.js';

/**
 * A queue's database: the only thing that the rest of the library receives from one. Each part promises one commit per
 * call, guarded by what the caller knows: rows that changed meanwhile are absent from the answer.
 */
export interface QueueDatabase {
  readonly inserts: TaskInserts;
  readonly attempts: AttemptStore;
  readonly transactions: TaskTransactions;
  readonly workers: WorkerRegistry;
  readonly upkeep: Upkeep;
  readonly admin: TaskAdmin;
  readonly reports: QueueReports;
  readonly subscriptions: SubscriptionStore;
  readonly endpoints: EndpointStore;
  readonly schedules: ScheduleStore;
  /** Only where workers of nsj-queue-lib serve the same table. */
  readonly interop?: Interop | undefined;
  /** Attempts that claims leave out, where the database may refuse to change one. */
  readonly apart?: RowsApart | undefined;
  /** What a registered worker claims through. */
  claimsOf(workerId: WorkerId, options: ClaimsOptions): Claims;
  /** Says what an error means that a method of the database has thrown. */
  classify(error: unknown): ErrorKind;
  /**
   * Of an error that says that this process lacks a right: `RIGHTS_MISSING` with the grants that an operator also has. Of any
   * other error undefined.
   */
  explainRefusal(error: unknown): Promise<TarefaError | undefined>;
  /**
   * What keeps rows of the queue from this process without an error, in words; undefined when nothing does, or when its statements
   * would fail by it.
   */
  findHidden(): Promise<string | undefined>;
  /** Closes all connections. */
  close(): Promise<void>;
}
