import { QueueAdmin } from '../../admin/queue-admin.js';
import { TaskWaiter } from '../../admin/task-waiter.js';
import { QueueClient } from '../../client/queue-client.js';
import type { SqlHandle } from '../sql-handle.js';
import { TopicSchemas } from '../../client/topic-schemas.js';
import type { Coordinator } from '../../coordination/coordinator.js';
import type { QueueBasis } from '../../assembly/core.js';
import type { QueueEvents } from '../../events.js';
import type { ResolvedOptions } from '../../options/resolve-options.js';
import { TenantDatabases } from '../../tenants/tenant-databases.js';
import { assembleParts, type QueueWorkerAssembly } from '../../assembly/worker.js';
import { MemoryStorage } from './memory-storage.js';
import { MemoryStore } from './memory-store.js';
import { memoryIdentity, MemoryTable } from './memory-table.js';
import { needsDatabase, noDatabase } from './needs-database.js';
import { ClosingTime } from '../../timing/closing-time.js';

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
  readonly declared = new Set<string>();
  readonly database: MemoryStorage;
  readonly client: QueueClient;
  readonly store: MemoryStore;
  readonly tenants = new TenantDatabases(() => needsDatabase('the database of a tenant'));

  constructor(options: ResolvedOptions, events: QueueEvents, { now, db }: MemoryParts) {
    const { table: name, maxPayloadBytes, transaction } = options;
    this.options = options;
    this.events = events;
    this.closing = new ClosingTime(options.shutdownTimeoutMs);
    this.schemas = new TopicSchemas(options.schemas);
    const table = new MemoryTable(now);
    const identity = { identity: memoryIdentity(name), qualifiedName: name };
    this.database = new MemoryStorage(table, identity, db);
    this.store = new MemoryStore(table, this.database, { table: name, maxPayloadBytes });
    const runtime = { inserts: this.database.inserts, schemas: this.schemas, transaction };
    this.client = new QueueClient(noDatabase, { table: name, maxPayloadBytes }, runtime);
  }

  async close(): Promise<void> {}
}

/** Puts a worker on it together, which a tester drives; started by itself it says that it cannot. */
export function assembleInMemory(core: MemoryCore): QueueWorkerAssembly {
  const { database, events, closing, options, tenants } = core;
  const waiter = new TaskWaiter(() => Promise.resolve(undefined));
  return assembleParts({
    database,
    events,
    closing,
    options,
    tenants,
    coordinator: alone,
    admin: (purge) =>
      new QueueAdmin({
        database,
        rules: { maxPayloadBytes: options.maxPayloadBytes, schemas: core.schemas, interop: false },
        waiter,
        purge: () => purge.runNow(),
      }),
  });
}

const alone: Coordinator = {
  connection: 'none',
  alive: false,
  start: () => Promise.reject(needsDatabase('a worker')),
  ring: () => undefined,
  exclusively: (_routine, work) => work(),
  findLost: () => Promise.resolve(undefined),
  stop: () => Promise.resolve(),
};
