import type { InjectionToken } from '@nestjs/common';
import { QueueAdmin } from '../admin/queue-admin.js';
import { TaskWaiter } from '../admin/task-waiter.js';
import type { QueueBasis } from '../assembly/core.js';
import { QueueGroup } from '../assembly/queue-group.js';
import { resolveOptions } from '../assembly/resolve-options.js';
import { assembleParts, type QueueWorkerAssembly } from '../assembly/worker.js';
import { QueueClient } from '../client/queue-client.js';
import { getQueueToken } from '../client/queue-tokens.js';
import { TopicSchemas } from '../client/topic-schemas.js';
import type { Bell } from '../coordination/bell.js';
import type { Liveness } from '../coordination/liveness.js';
import { QueueEvents } from '../events.js';
import { QueueLogs } from '../observability/queue-logs.js';
import { defaultQueueName, getPartToken } from '../options/part-token.js';
import type { QueueOptions } from '../options/queue-options.js';
import type { ResolvedOptions } from '../options/resolve-options.js';
import type { SqlHandle } from '../storage/sql-handle.js';
import { DeclaredSchedules } from '../subscribers/declared-schedules.js';
import { DeclaredSubscriptions } from '../subscribers/declared-subscriptions.js';
import { TenantDatabases } from '../tenants/tenant-databases.js';
import { ClosingTime } from '../timing/closing-time.js';
import { needsDatabase, refusing } from './needs-database.js';
import { Recorder } from './recorder.js';

/** What can be overridden of a `TestingModuleBuilder` of `@nestjs/testing`. */
export interface OverridableModule {
  overrideProvider(token: InjectionToken): {
    useFactory(options: { factory: (...args: never[]) => unknown; inject?: InjectionToken[] }): unknown;
  };
}

/** Which queue has no database. */
export interface WithoutDatabaseOptions {
  /** Name of the queue, when there are several. */
  readonly queue?: string | undefined;
}

/**
 * Makes a testing module's queue record what is inserted, without a connection. A `QueueTester` asserts it, and runs one handler
 * at a time: `run` and `deliver`. Everything else throws `DATABASE_NEEDED`: it is tested with `connection: 'embedded'`.
 *
 * An insert stays when the transaction that it was given rolls back.
 *
 * @example
 * const builder = Test.createTestingModule({ imports: [AppModule] });
 * const app = await withoutDatabase(builder).compile();
 * await app.init();
 * const tester = QueueTester.of(app);
 */
export function withoutDatabase<Builder extends OverridableModule>(
  builder: Builder,
  { queue = defaultQueueName }: WithoutDatabaseOptions = {},
): Builder {
  const core = getPartToken(queue, 'core');
  builder.overrideProvider(core).useFactory({
    inject: [
      getPartToken(queue, 'options'),
      getQueueToken(queue, QueueEvents),
      getQueueToken(queue, QueueLogs),
      QueueGroup,
    ],
    factory: (given: QueueOptions, events: QueueEvents, logs: QueueLogs, group: QueueGroup) => {
      group.add(queue);
      const options = resolveOptions({ ...given, ...overridden });
      logs.start(events, options);
      return makeCore(options, events);
    },
  });
  builder.overrideProvider(getPartToken(queue, 'webhooks')).useFactory({ factory: () => undefined });
  builder.overrideProvider(getPartToken(queue, 'assembly')).useFactory({ inject: [core], factory: assemble });
  return builder;
}

const overridden = {
  // Nothing connects to it.
  connection: 'postgres://nowhere',
  worker: true,
  autoStart: false,
  webhooks: false,
  loki: false,
  tenantDatabases: false,
  // These depend on where the database is.
  sessionConnection: undefined,
  wake: undefined,
} as const;

function makeCore(options: ResolvedOptions, events: QueueEvents): QueueBasis {
  const { table, maxPayloadBytes, shutdownTimeoutMs, transaction } = options;
  const database = new Recorder();
  const schemas = new TopicSchemas(options.schemas);
  const rules = { maxPayloadBytes, schemas };
  const runtime = { inserts: database.inserts, schemas, transaction };
  return {
    options,
    events,
    closing: new ClosingTime(shutdownTimeoutMs),
    database,
    client: new QueueClient(refusing<SqlHandle>('a statement'), { table, maxPayloadBytes }, runtime),
    schemas,
    declared: new DeclaredSubscriptions({ database, events }),
    schedules: new DeclaredSchedules(database, events, rules, ring),
    tenants: new TenantDatabases(() => needsDatabase('the database of a tenant')),
    testAccess: () => database.access,
    close: async () => undefined,
  };
}

function assemble(core: QueueBasis): QueueWorkerAssembly {
  const { database, options, schemas, events } = core;
  const { maxPayloadBytes, purgeMaxAgeDays } = options;
  return assembleParts({
    ...core,
    bell: refusing<Bell>('a worker', {
      canListen: false,
      tellsOthers: false,
      ring,
      carried: () => undefined,
    }),
    liveness: refusing<Liveness>('a worker', { alive: false, release: async () => undefined }),
    admin: (purge, worker) =>
      new QueueAdmin({
        database,
        rules: { maxPayloadBytes, schemas, interop: false },
        purgeMaxAgeDays,
        waiter: new TaskWaiter(async () => undefined),
        events,
        ring,
        purge: () => purge.runNow(),
        stalled: () => worker.stalled,
      }),
  });
}

/** Nobody listens. */
async function ring(): Promise<void> {}
