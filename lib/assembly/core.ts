import { QueueAdmin } from '../admin/queue-admin.js';
import { TaskWaiter } from '../admin/task-waiter.js';
import { QueueClient } from '../client/queue-client.js';
import { TopicSchemas } from '../client/topic-schemas.js';
import { EndListener } from '../coordination/end-listener.js';
import { HistoryRecorder } from '../observability/history/history-recorder.js';
import type { PurgeRoutine } from '../maintenance/purge.routine.js';
import type { TableWatch } from '../maintenance/table-watch.js';
import type { QueueEvents } from '../events.js';
import { defaultQueueName } from '../options/part-token.js';
import type { ResolvedOptions } from '../options/resolve-options.js';
import { openStorage } from './open-storage.js';
import type { OpenedStorage, PreparedQueue } from './opened-storage.js';
import { StartAttempts } from './start-attempts.js';
import type { QueueDatabase } from '../storage/database.js';
import { DeclaredSchedules } from '../subscribers/declared-schedules.js';
import { DeclaredSubscriptions } from '../subscribers/declared-subscriptions.js';
import type { TestAccess } from '../storage/test-access.js';
import { unavailableTenants } from '../tenants/unavailable-tenants.js';
import type { TenantDatabases } from '../tenants/tenant-databases.js';
import { assembleParts, type QueueWorkerAssembly } from './worker.js';
import { ChildPool } from '../worker/children/child-pool.js';
import { DetachedChildren } from '../worker/children/detached-children.js';
import type { QueueWorker } from '../worker/queue-worker.js';
import { closingReserves, ClosingTime } from '../timing/closing-time.js';
import { replaced } from '../values/replaced.js';
import { watchedAdmin } from './watched-admin.js';

/** What every process with a queue has, wherever its tasks are. */
export interface QueueBasis {
  readonly options: ResolvedOptions;
  readonly events: QueueEvents;
  /** What its worker and its connections may take to close. */
  readonly closing: ClosingTime;
  readonly database: QueueDatabase;
  readonly client: QueueClient;
  readonly schemas: TopicSchemas;
  readonly declared: DeclaredSubscriptions;
  readonly schedules: DeclaredSchedules;
  readonly tenants: TenantDatabases;
  /** Opens what tests ask of a queue besides what it does for everybody. */
  testAccess(): TestAccess;
  /** Closes everything that was opened. Idempotent. */
  close(): Promise<void>;
}

/** A queue's core in a database whose tables are there. */
export interface QueueCore extends QueueBasis {
  /** In its application. */
  readonly name: string;
  readonly storage: OpenedStorage;
  readonly prepared: PreparedQueue;
  /** What is hidden besides what is secret by its name. */
  readonly redact: readonly string[];
  /** Undefined where this process writes none. */
  readonly history: HistoryRecorder | undefined;
}

/** What a core is assembled with besides its options. */
export interface CoreOptions {
  /** In its application. Default: that of the only one. */
  readonly name?: string;
  /** Of the application: what its queues share is found by it. Default: one of its own. */
  readonly group?: object;
  /** The rules of its dashboard. Default: none. */
  readonly redact?: readonly string[];
  /** Ends a wait for a server that cannot be reached. */
  readonly signal?: AbortSignal;
  /** True when handlers declare subscriptions with a topic. */
  readonly declares?: boolean;
}

/** Connects a queue and prepares its tables. Leaves nothing open when that fails. */
export async function assembleCore(
  options: ResolvedOptions,
  events: QueueEvents,
  { name = defaultQueueName, group = {}, redact = [], signal, declares = false }: CoreOptions = {},
): Promise<QueueCore> {
  const steps = new CloseSteps();
  const closing = new ClosingTime(options.shutdownTimeoutMs);
  const starting = new StartAttempts(options, events, signal);
  try {
    const onClose = steps.add;
    const storage = await openStorage({ options, events, closing, starting, group, declares, onClose });
    const { prepared } = storage;
    const database = await openDatabase(storage, options, events, steps);
    const tenants = await openTenants(storage, options, events);
    const history = makeHistory(options, database, events);
    steps.add(() =>
      closing.step(
        () => Promise.all([history?.close(), storage.settled(), tenants.close()]),
        closingReserves.rest,
      ),
    );
    if (options.server) {
      const { openServer } = await import('./server.js');
      const { reports } = database;
      const closeServer = await openServer(options.server, {
        reports,
        worker: options.worker && !options.sharedServer,
        queue: prepared.qualifiedName,
        events,
      });
      steps.add(() => closing.step(closeServer, closingReserves.rest));
    }
    const { table, maxPayloadBytes, transaction } = options;
    const schemas = new TopicSchemas(options.schemas);
    const ring = (): Promise<void> => storage.bell.ring('tasks', {});
    const changed = (): Promise<void> => storage.bell.ring('tasks', { changed: true });
    const runtime = { inserts: database.inserts, schemas, transaction, ring };
    const client = new QueueClient(storage.inserts, { table, maxPayloadBytes }, runtime);
    return {
      name,
      options,
      events,
      closing,
      storage,
      database,
      prepared,
      client,
      schemas,
      declared: new DeclaredSubscriptions({ database, events }),
      schedules: new DeclaredSchedules(database, events, { maxPayloadBytes, schemas }, changed),
      tenants,
      redact,
      history,
      testAccess: () => storage.testAccess(),
      close: () => steps.close(),
    };
  } catch (error) {
    await steps.close().catch(() => undefined);
    throw error;
  }
}

/** The queue's database, where workers of nsj-queue-lib lock in a server together with that server. */
async function openDatabase(
  storage: OpenedStorage,
  { sharedServer }: ResolvedOptions,
  events: QueueEvents,
  steps: CloseSteps,
): Promise<QueueDatabase> {
  if (!sharedServer) return storage.database;
  const { shareServer } = await import('./shared-server.js');
  const shared = shareServer(sharedServer, storage.database, events);
  steps.add(() => shared.close());
  return shared.database;
}

/** Puts a worker on that core together. Nothing runs until it is started. */
export function assembleWorker(core: QueueCore): QueueWorkerAssembly {
  const { name, storage, database, events, closing, declared, schedules, tenants, redact, history } = core;
  const ring = (): void => void storage.bell.ring('tasks', {});
  return assembleParts({
    database,
    events,
    closing,
    declared,
    schedules,
    tenants,
    redact,
    counter: history?.tally,
    children: ({ registry, recovery }) => {
      const parts = { options: core.options, queue: name, registry, events, ring };
      return {
        thread: new ChildPool('thread', parts),
        process: new ChildPool('process', parts),
        detached: new DetachedChildren({ ...parts, recovery, database }),
      };
    },
    bell: storage.bell,
    liveness: storage.liveness(),
    options: storage.workerOptions(),
    admin: (purge, worker, table) => makeAdmin(core, purge, worker, table),
  });
}

/** What serves databases of tenants is loaded where they are configured. They are of the same kind as the queue's. */
async function openTenants(
  storage: OpenedStorage,
  { tenantDatabases }: ResolvedOptions,
  events: QueueEvents,
): Promise<TenantDatabases> {
  if (!tenantDatabases) return unavailableTenants();
  const { assembleTenants } = await import('./tenants.js');
  return assembleTenants(tenantDatabases, await storage.tenantDriver(tenantDatabases), events);
}

function makeHistory(
  { worker, history }: ResolvedOptions,
  { reports }: QueueDatabase,
  events: QueueEvents,
): HistoryRecorder | undefined {
  return worker && history ? new HistoryRecorder(reports, events) : undefined;
}

function makeAdmin(
  { options, schemas, storage, database, events }: QueueCore,
  purge: PurgeRoutine,
  worker: Pick<QueueWorker, 'stalled'>,
  table: Pick<TableWatch, 'checkSoon'>,
): QueueAdmin {
  const { bell } = storage;
  const waiter = new TaskWaiter(async () => (bell.tellsOthers ? EndListener.start(bell) : undefined));
  const { maxPayloadBytes, interop, purgeMaxAgeDays } = options;
  return new QueueAdmin({
    database: replaced(database, { admin: watchedAdmin(database.admin, table) }),
    rules: { maxPayloadBytes, schemas, interop: interop !== undefined },
    purgeMaxAgeDays,
    waiter,
    events,
    ring: () => bell.ring('tasks', { changed: true }),
    purge: () => purge.runNow(),
    stalled: () => worker.stalled,
  });
}

/** How what was opened is closed: in the opposite order. */
class CloseSteps {
  readonly #steps: (() => Promise<unknown>)[] = [];

  readonly add = (step: () => Promise<unknown>): void => {
    this.#steps.push(step);
  };

  /** Idempotent. */
  async close(): Promise<void> {
    for (const step of this.#steps.splice(0).reverse()) await step();
  }
}
