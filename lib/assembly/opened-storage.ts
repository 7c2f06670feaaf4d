import type { Bell } from '../coordination/bell.js';
import type { RemoteBell } from '../coordination/remote-bell.js';
import type { ProcessGuard } from '../coordination/lease-protocol.js';
import type { Liveness } from '../coordination/liveness.js';
import type { QueueEvents } from '../events.js';
import type { ResolvedOptions } from '../options/resolve-options.js';
import type { ResolvedTenantOptions } from '../options/tenant-options.js';
import type { QueueDatabase } from '../storage/database.js';
import type { SqlHandle } from '../storage/sql-handle.js';
import type { TaskImportTransactions } from '../storage/task-import.js';
import type { TestAccess } from '../storage/test-access.js';
import type { TenantDriver } from '../tenants/tenant-driver.js';
import type { ClosingTime } from '../timing/closing-time.js';
import type { StartAttempts } from './start-attempts.js';

/** What a database is opened with. */
export interface StorageOpening {
  readonly options: ResolvedOptions;
  readonly events: QueueEvents;
  readonly closing: ClosingTime;
  readonly starting: StartAttempts;
  /** Of the application: what its queues share is found by it. */
  readonly group: object;
  /** True when handlers declare subscriptions with a topic, whose rows the start makes. */
  readonly declares: boolean;
  /** What wakes the queue's processes besides the database, where it is told to. */
  readonly remoteBell?: RemoteBell | undefined;
  /** Keeps how something is closed that was just opened; what was opened last is closed first. */
  readonly onClose: (step: () => Promise<unknown>) => void;
}

/** What a start has found or made in a database. */
export interface PreparedQueue {
  /** The queue table with its schema or database, as people read it. */
  readonly qualifiedName: string;
  /** What works with a limitation: for the log. */
  readonly warnings: readonly string[];
  /** What this start made; empty when nothing was missing. */
  readonly made: readonly string[];
}

/** A queue's database, connected and prepared: all that the rest of the assembly knows of it. */
export interface OpenedStorage {
  readonly database: QueueDatabase;
  readonly bell: Bell;
  readonly prepared: PreparedQueue;
  /** What the client runs statements through that are in no transaction of the caller's. */
  readonly inserts: SqlHandle;
  /** The queue's options as its worker can have them here; says what it has to change. */
  workerOptions(): ResolvedOptions;
  /** Makes what shows that a worker lives. */
  liveness(): Liveness;
  /** Makes what shows that a detached worker lives, whose process a thread ends where it must. */
  detachedLiveness(guard: ProcessGuard): Liveness;
  /** Loads what connects to databases of tenants. */
  tenantDriver(options: ResolvedTenantOptions): Promise<TenantDriver>;
  /** Opens what inserts many tasks in few transactions. */
  openImport(): Promise<TaskImportTransactions>;
  /** Opens what tests ask of a queue besides what it does for everybody. */
  testAccess(): TestAccess;
  /** Resolves when every ring so far is on its way: before connections are closed. */
  settled(): Promise<void>;
}
