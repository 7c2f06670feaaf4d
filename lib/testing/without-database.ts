import type { InjectionToken } from '@nestjs/common';
import type { SqlHandle } from '../storage/sql-handle.js';
import { QueueLogs } from '../observability/queue-logs.js';
import { QueueEvents } from '../events.js';
import { QueueGroup } from '../assembly/queue-group.js';
import type { QueueOptions } from '../options/queue-options.js';
import { getQueueToken } from '../client/queue-tokens.js';
import { defaultQueueName, getPartToken } from '../options/part-token.js';
import { resolveOptions } from '../assembly/resolve-options.js';
import { assembleInMemory, MemoryCore } from '../assembly/memory.js';

/** What can be overridden of a `TestingModuleBuilder` of `@nestjs/testing`. */
export interface OverridableModule {
  overrideProvider(token: InjectionToken): {
    useFactory(options: { factory: (...args: never[]) => unknown; inject?: InjectionToken[] }): unknown;
  };
}

/** How a queue without a database behaves. */
export interface WithoutDatabaseOptions {
  /** Name of the queue, when there are several. */
  readonly queue?: string | undefined;
  /** Its clock, in ms since 1970. Default `Date.now`, so a fake one of the test runner counts. */
  readonly now?: (() => number) | undefined;
  /** Runs the statements of `ctx.db`, for handlers that use it. Default: an error that says that a database is needed. */
  readonly db?: SqlHandle | undefined;
}

/**
 * Makes a testing module's queue keep its tasks in memory: no connection is opened, and handlers run when a
 * `QueueTester` says so, with their retries, dead handlers and deliveries.
 *
 * It has no SQL to undo: an insert stays when the transaction that it was given rolls back, and so does what a handler did
 * that fails. No worker runs by itself. `QueueAdmin` works; what needs a server throws
 * `DATABASE_NEEDED`.
 *
 * @example
 * const builder = Test.createTestingModule({ imports: [AppModule] });
 * const app = await withoutDatabase(builder).compile();
 * await app.init();
 * const tester = QueueTester.of(app);
 */
export function withoutDatabase<Builder extends OverridableModule>(
  builder: Builder,
  { queue = defaultQueueName, now = () => Date.now(), db }: WithoutDatabaseOptions = {},
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
      const overridden = {
        // Nothing connects to it.
        connection: 'postgres://memory',
        worker: true,
        autoStart: false,
        webhooks: false,
        loki: false,
        tenantDatabases: false,
      } as const;
      const options = resolveOptions({
        ...given,
        ...overridden,
        // These depend on where the database is.
        sessionConnection: undefined,
        wake: undefined,
      });
      logs.start(events, options);
      return new MemoryCore(options, events, { now, db });
    },
  });
  builder.overrideProvider(getPartToken(queue, 'webhooks')).useFactory({ factory: () => undefined });
  builder
    .overrideProvider(getPartToken(queue, 'assembly'))
    .useFactory({ inject: [core], factory: assembleInMemory });
  return builder;
}
