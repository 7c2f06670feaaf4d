import { QueueAdmin } from '../admin/queue-admin.js';
import { TaskWaiter } from '../admin/task-waiter.js';
import { QueueClient } from '../client/queue-client.js';
import { TopicSchemas } from '../client/topic-schemas.js';
import { MemoryBell } from '../coordination/memory/memory-bell.js';
import { LivingWorkers, MemoryLiveness } from '../coordination/memory/memory-liveness.js';
import type { QueueEvents } from '../events.js';
import type { ResolvedOptions } from '../options/resolve-options.js';
import { MemoryDatabase } from '../storage/memory/memory-database.js';
import { MemoryTestAccess } from '../storage/memory/memory-test-access.js';
import { needsDatabase, noDatabase } from '../storage/memory/needs-database.js';
import type { SqlHandle } from '../storage/sql-handle.js';
import { DeclaredSchedules } from '../subscribers/declared-schedules.js';
import { DeclaredSubscriptions } from '../subscribers/declared-subscriptions.js';
import type { TestAccess } from '../storage/test-access.js';
import { TenantDatabases } from '../tenants/tenant-databases.js';
import { ClosingTime } from '../timing/closing-time.js';
import type { QueueBasis } from './core.js';
import { assembleParts, type QueueWorkerAssembly } from './worker.js';

/** What a queue without a database is made of. */
export interface MemoryParts {
  /** Ms since 1970. */
  readonly now: () => number;
  /** Runs the statements of `ctx.db`; undefined: they are an error. */
  readonly db: SqlHandle | undefined;
}

/** The core of a queue whose tasks are in memory. */
export class MemoryCore implements QueueBasis {
  readonly options: ResolvedOptions;
  readonly events: QueueEvents;
  readonly closing: ClosingTime;
  readonly schemas: TopicSchemas;
  readonly declared: DeclaredSubscriptions;
  readonly schedules: DeclaredSchedules;
  readonly database: MemoryDatabase;
  readonly client: QueueClient;
  readonly tenants = new TenantDatabases(() => needsDatabase('the database of a tenant'));

  constructor(options: ResolvedOptions, events: QueueEvents, { now, db }: MemoryParts) {
    const { table: name, maxPayloadBytes, transaction } = options;
    this.options = options;
    this.events = events;
    this.closing = new ClosingTime(options.shutdownTimeoutMs);
    this.schemas = new TopicSchemas(options.schemas);
    this.database = new MemoryDatabase({ name, now, db });
    this.declared = new DeclaredSubscriptions({ database: this.database, events });
    const rules = { maxPayloadBytes, schemas: this.schemas };
    this.schedules = new DeclaredSchedules({
      database: this.database,
      events,
      rules,
      ring: async () => undefined,
    });
    const runtime = { inserts: this.database.inserts, schemas: this.schemas, transaction };
    this.client = new QueueClient(noDatabase, { table: name, maxPayloadBytes }, runtime);
  }

  testAccess(): TestAccess {
    return new MemoryTestAccess(this.database.table);
  }

  async close(): Promise<void> {}
}

/** Puts a worker on it together, which a tester drives; started by itself it says that it cannot. */
export function assembleInMemory(core: MemoryCore): QueueWorkerAssembly {
  const { database, events, closing, declared, schedules, options, tenants } = core;
  const waiter = new TaskWaiter(() => Promise.resolve(undefined));
  return assembleParts({
    database,
    events,
    closing,
    declared,
    schedules,
    options,
    tenants,
    bell: new MemoryBell(),
    liveness: new TesterLiveness(new LivingWorkers(), database.workers),
    admin: (purge, worker) =>
      new QueueAdmin({
        database,
        rules: { maxPayloadBytes: options.maxPayloadBytes, schemas: core.schemas, interop: false },
        purgeMaxAgeDays: options.purgeMaxAgeDays,
        waiter,
        events,
        ring: async () => undefined,
        purge: () => purge.runNow(),
        stalled: () => worker.stalled,
      }),
  });
}

/** No worker starts in memory: a tester drives the attempts. */
class TesterLiveness extends MemoryLiveness {
  override hold(): Promise<boolean> {
    return Promise.reject(needsDatabase('a worker'));
  }
}
