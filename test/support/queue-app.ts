import {
  Module,
  type DynamicModule,
  type INestApplicationContext,
  type LoggerService,
  type Provider,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterAll } from 'vitest';
import type { QueueCore } from '../../lib/assembly/core.js';
import {
  getQueueToken,
  NotifyRoutine,
  PurgeRoutine,
  QueueClient,
  QueueEvents,
  QueueModule,
  QueueWorker,
  RetryRoutine,
  type QueueModuleOptions,
} from '../../lib/index.js';
import { defaultQueueName, getPartToken } from '../../lib/options/part-token.js';
import type { TestDatabase } from './database.js';

@Module({})
class HandlersModule {}

@Module({})
class TestAppModule {}

/** A running application with one queue, and its parts at hand. */
export interface QueueApp {
  readonly app: INestApplicationContext;
  readonly queue: QueueClient;
  readonly worker: QueueWorker;
  readonly events: QueueEvents;
  readonly retry: RetryRoutine;
  readonly notify: NotifyRoutine;
  readonly purge: PurgeRoutine;
  readonly close: () => Promise<void>;
}

/** Of a queue whose routines run only when they are told to: the minutes of the hour come while tests run. */
export const withoutRoutines = {
  retryMinutes: [],
  notifyMinutes: [],
  purgeMinutes: [],
} as const satisfies QueueModuleOptions;

/** For tests in which each routine has a minute: one that does not come while they run. */
export const distantRoutines = (): Pick<QueueModuleOptions, keyof typeof withoutRoutines> => {
  const minutes = [(new Date().getMinutes() + 30) % 60];
  return { retryMinutes: minutes, notifyMinutes: minutes, purgeMinutes: minutes };
};

export interface QueueAppOptions extends QueueModuleOptions {
  /** True: the routines run by the clock, as they do in an application. Default: only those whose minutes are given. */
  readonly routines?: boolean;
  readonly handlers?: readonly Provider[];
  readonly imports?: readonly DynamicModule[];
  /** Takes the lines of the log; default: nobody. */
  readonly logger?: LoggerService;
}

/**
 * How queues are laid out that tests make: `TAREFA_TEST_LAYOUT=partitioned` runs the same tests on partitions, of so few
 * ids that a test's rows are in several of them.
 */
export function layoutOfRun(partitionIds = 20): Pick<QueueModuleOptions, 'layout'> {
  return process.env['TAREFA_TEST_LAYOUT'] === 'partitioned' ? { layout: { partitionIds } } : {};
}

/** Starts an application whose queue is `tasks` in the given database. Close it at the end of the test. */
export async function startApp(
  database: Pick<TestDatabase, 'url'>,
  { handlers = [], imports = [], logger, routines = false, ...options }: QueueAppOptions = {},
): Promise<QueueApp> {
  const { name } = options;
  const module: DynamicModule = {
    module: TestAppModule,
    imports: [
      { module: HandlersModule, providers: [...handlers], exports: [...handlers] },
      ...imports,
      QueueModule.forRoot({
        connection: database.url,
        queue: 'tasks',
        ...layoutOfRun(),
        ...(routines ? {} : withoutRoutines),
        ...options,
      }),
    ],
  };
  const app = await NestFactory.createApplicationContext(module, {
    logger: logger ?? false,
    abortOnError: false,
  });
  return {
    app,
    queue: app.get(getQueueToken(name)),
    worker: app.get(getQueueToken(name, QueueWorker), { strict: false }),
    events: app.get(getQueueToken(name, QueueEvents)),
    retry: app.get(getQueueToken(name, RetryRoutine), { strict: false }),
    notify: app.get(getQueueToken(name, NotifyRoutine), { strict: false }),
    purge: app.get(getQueueToken(name, PurgeRoutine), { strict: false }),
    close: () => app.close(),
  };
}

/** What the queue of an application is made of. Its parts are those that its worker has: for spies on one of them. */
export function coreOf(app: Pick<INestApplicationContext, 'get'>): QueueCore {
  return app.get<QueueCore>(getPartToken(defaultQueueName, 'core'), { strict: false });
}

/** {@link startApp} of a test file: it is closed when the file's tests have ended. */
export async function useApp(...given: Parameters<typeof startApp>): Promise<QueueApp> {
  const app = await startApp(...given);
  afterAll(() => app.close());
  return app;
}

/** Makes the tables of a queue, as an application does that was there before. */
export async function createQueue(
  database: Pick<TestDatabase, 'url'>,
  options: QueueAppOptions = {},
): Promise<void> {
  await (await startApp(database, { worker: false, ...options })).close();
}
