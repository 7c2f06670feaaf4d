import type { Pool } from 'pg';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { createDatabase, type TestDatabase } from '../../support/database.js';
import { startProxy, type DatabaseProxy } from '../../support/database-proxy.js';
import { LogLines } from '../../support/log-lines.js';
import { startApp, type QueueApp, type QueueAppOptions } from '../../support/queue-app.js';
import { createEffectTable } from '../../support/worker-process.js';

/** The queue `tasks` of a test file, with a table for effects, and a proxy that can break its connections. */
export interface FaultBench {
  readonly database: TestDatabase;
  readonly pool: Pool;
  readonly proxy: DatabaseProxy;
  /** What the application that was started last has logged. */
  readonly log: LogLines;
  /**
   * Starts an application, behind the proxy unless `connection` says otherwise, that neither polls nor recovers by
   * itself. It is closed after the test.
   */
  start(options: QueueAppOptions): Promise<QueueApp>;
}

/** Sets a bench up for the test file; after each test faults are lifted, and tasks and effects forgotten. */
export function useFaults(): FaultBench {
  let database: TestDatabase;
  let proxy: DatabaseProxy;
  let log = new LogLines();
  let app: QueueApp | undefined;

  beforeAll(async () => {
    database = await createDatabase();
    await createEffectTable(database);
    proxy = await startProxy(database);
  });
  afterEach(async () => {
    proxy.pass();
    await app?.close();
    app = undefined;
    await database.pool.query('truncate tasks, effect');
  });
  afterAll(async () => {
    await proxy.close();
    await database.drop();
  });

  return {
    get database() {
      return database;
    },
    get pool() {
      return database.pool;
    },
    get proxy() {
      return proxy;
    },
    get log() {
      return log;
    },
    start: async (options) => {
      log = new LogLines();
      app = await startApp(proxy, { logger: log, pollIntervalMs: 0, recovery: false, ...options });
      return app;
    },
  };
}
