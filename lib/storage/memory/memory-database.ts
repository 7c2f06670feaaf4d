import type { WorkerId } from '../attempt.js';
import type { Claims } from '../claims.js';
import type { QueueDatabase } from '../database.js';
import type { SqlHandle } from '../sql-handle.js';
import type { QueueIdentity } from '../task-row.js';
import { MemoryAdmin } from './memory-admin.js';
import { MemoryAttempts } from './memory-attempts.js';
import { MemoryClaims } from './memory-claims.js';
import { MemoryEndpoints } from './memory-endpoints.js';
import { MemoryInserts } from './memory-inserts.js';
import { MemoryReports } from './memory-reports.js';
import { MemorySchedules } from './memory-schedules.js';
import { MemorySubscriptions } from './memory-subscriptions.js';
import { MemoryTable, memoryIdentity } from './memory-table.js';
import { MemoryTransactions } from './memory-transactions.js';
import { MemoryUpkeep } from './memory-upkeep.js';
import { MemoryWorkers } from './memory-workers.js';

/** What a queue in memory is made of. */
export interface MemoryDatabaseParts {
  /** Name of the table that it stands for. */
  readonly name: string;
  /** Its clock, in ms since 1970. */
  readonly now: () => number;
  /** Runs the statements of handlers; undefined: they are refused. */
  readonly db?: SqlHandle | undefined;
  /** Workers whose liveness is held. Default: none. */
  readonly living?: ReadonlySet<WorkerId> | undefined;
}

/**
 * {@link QueueDatabase} in the memory of one process, for tests: it keeps every contract but one, as it has no SQL to undo.
 * Inserts stay when the transaction that they were given rolls back.
 */
export class MemoryDatabase implements QueueDatabase {
  readonly table: MemoryTable;
  readonly inserts: MemoryInserts;
  readonly attempts: MemoryAttempts;
  readonly transactions: MemoryTransactions;
  readonly workers: MemoryWorkers;
  readonly upkeep: MemoryUpkeep;
  readonly subscriptions: MemorySubscriptions;
  readonly endpoints: MemoryEndpoints;
  readonly schedules: MemorySchedules;
  readonly admin: MemoryAdmin;
  readonly reports: MemoryReports;
  readonly #queue: QueueIdentity;

  constructor({ name, now, db, living }: MemoryDatabaseParts) {
    this.#queue = { identity: memoryIdentity(name), qualifiedName: name };
    this.table = new MemoryTable(now);
    this.inserts = new MemoryInserts(this.table);
    this.attempts = new MemoryAttempts(this.table, this.#queue);
    this.transactions = new MemoryTransactions(this.table, db);
    this.workers = new MemoryWorkers(this.table, living);
    this.upkeep = new MemoryUpkeep(this.table);
    this.subscriptions = new MemorySubscriptions(this.table);
    this.endpoints = new MemoryEndpoints(this.table);
    this.schedules = new MemorySchedules(this.table, this.inserts);
    this.admin = new MemoryAdmin(this.table);
    this.reports = new MemoryReports(this.table, name, this.upkeep, living);
  }

  claimsOf(workerId: WorkerId): Claims {
    return new MemoryClaims(this.table, this.#queue, workerId);
  }

  classify(): 'other' {
    return 'other';
  }

  async explainRefusal(): Promise<undefined> {
    return undefined;
  }

  async findHidden(): Promise<undefined> {
    return undefined;
  }

  async close(): Promise<void> {}
}
