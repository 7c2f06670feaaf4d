import type { Pool } from 'pg';
import { afterAll, afterEach, beforeAll } from 'vitest';
import type { TestDatabase } from '../../support/database.js';
import { startProxy, type DatabaseProxy } from '../../support/database-proxy.js';
import { LogLines } from '../../support/log-lines.js';
import type { QueueApp, QueueAppOptions } from '../../support/queue-app.js';
import { createEffectTable } from '../../support/worker-process.js';
import { useQueue } from '../../worker/queue-bench.js';

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
  const bench = useQueue('effect');
  let proxy: DatabaseProxy;
  let log = new LogLines();

  beforeAll(async () => {
    await createEffectTable(bench);
    proxy = await startProxy(bench.database);
  });
  afterEach(() => proxy.pass());
  afterAll(() => proxy.close());

  return {
    get database() {
      return bench.database;
    },
    get pool() {
      return bench.pool;
    },
    get proxy() {
      return proxy;
    },
    get log() {
      return log;
    },
    start: (options) => {
      log = new LogLines();
      return bench.start({
        connection: proxy.url,
        logger: log,
        pollIntervalMs: 0,
        recovery: false,
        ...options,
      });
    },
  };
}
