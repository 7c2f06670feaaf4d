import { afterAll, afterEach, beforeAll } from 'vitest';
import type { QueueModuleOptions } from '../../lib/index.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import type { Child } from '../support/processes.js';
import { startApp, type QueueApp, type QueueAppOptions } from '../support/queue-app.js';
import { createEffectTable, forkWorker } from '../support/worker-process.js';

/** A worker in another process, which a test may kill. */
export type ChildWorker = Child & { readonly workerId: string };

/** What {@link useRecoveryBench} offers. */
export interface RecoveryBench {
  readonly database: TestDatabase;
  start(options: QueueAppOptions): Promise<QueueApp>;
  startChild(options: QueueModuleOptions): Promise<ChildWorker>;
}

/** For a file of tests: a database, workers here and in processes that end with their test, and empty tables after it. */
export function useRecoveryBench(): RecoveryBench {
  let database: TestDatabase;
  let apps: QueueApp[] = [];
  let children: Child[] = [];

  beforeAll(async () => {
    database = await createDatabase();
    await createEffectTable(database);
    await (await startApp(database, { worker: false })).close();
  });

  afterEach(async () => {
    await Promise.all([...apps.map((app) => app.close()), ...children.map((child) => child.kill('SIGKILL'))]);
    apps = [];
    children = [];
    await database.pool.query('truncate tasks, tasks_worker, effect');
  });

  afterAll(() => database.drop());

  return {
    get database() {
      return database;
    },
    async start(options) {
      const app = await startApp(database, options);
      apps.push(app);
      return app;
    },
    async startChild(options) {
      const child = forkWorker(database, options);
      children.push(child);
      const { workerId } = await child.message('ready');
      return Object.assign(child, { workerId: String(workerId) });
    },
  };
}
