import type { WorkerId } from '../attempt.js';
import type { Claims } from '../claims.js';
import type { QueueDatabase } from '../database.js';
import type { SqlHandle } from '../sql-handle.js';
import type { QueueIdentity } from '../task-row.js';
import type { TaskAdmin } from '../admin.js';
import type { QueueReports } from '../reports.js';
import { MemoryAttempts } from './memory-attempts.js';
import { MemoryClaims } from './memory-claims.js';
import { MemoryEndpoints } from './memory-endpoints.js';
import { MemoryInserts } from './memory-inserts.js';
import { MemorySubscriptions } from './memory-subscriptions.js';
import { MemoryTable, memoryIdentity } from './memory-table.js';
import { MemoryTransactions } from './memory-transactions.js';
import { MemoryUpkeep } from './memory-upkeep.js';
import { MemoryWorkers } from './memory-workers.js';
import { withoutDatabase } from './needs-database.js';

/** What a queue in memory is made of. */
export interface MemoryDatabaseParts {
  /** Name of the table that it stands for. */
  readonly name: string;
  /** Its clock, in ms since 1970. */
  readonly now: () => number;
  /** Runs the statements of handlers; undefined: they are refused. */
  readonly db?: SqlHandle | undefined;
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
  readonly admin = withoutDatabase<TaskAdmin>('QueueAdmin');
  readonly reports: QueueReports = {
    ...withoutDatabase<QueueReports>('a report'),
    waitingRoutes: () => this.attempts.waitingRoutes(),
  };
  readonly #queue: QueueIdentity;

  constructor({ name, now, db }: MemoryDatabaseParts) {
    this.#queue = { identity: memoryIdentity(name), qualifiedName: name };
    this.table = new MemoryTable(now);
    this.inserts = new MemoryInserts(this.table);
    this.attempts = new MemoryAttempts(this.table, this.#queue);
    this.transactions = new MemoryTransactions(this.table, db);
    this.workers = new MemoryWorkers(this.table);
    this.upkeep = new MemoryUpkeep(this.table);
    this.subscriptions = new MemorySubscriptions(this.table);
    this.endpoints = new MemoryEndpoints(this.table);
  }

  claimsOf(workerId: WorkerId): Claims {
    return new MemoryClaims(this.table, this.#queue, workerId);
  }

  classify(): 'other' {
    return 'other';
  }

  async close(): Promise<void> {}
}
