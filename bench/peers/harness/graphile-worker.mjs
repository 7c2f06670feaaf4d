// graphile-worker as an adapter of the public harness, which has none for it: its settings, without a local queue.
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Logger, makeWorkerUtils, run, runMigrations } from 'graphile-worker';
import { Pool } from 'pg';

const logger = new Logger(() => () => undefined);

/**
 * Of its own performance test's preset. Without it (the default) completions are not awaited, and a connection that is cut
 * during one ends the process by an unhandled rejection.
 */
const batches = { completeJobBatchDelay: 0, failJobBatchDelay: 0 };

/** @type {import('../../harness/adapter/harnessed-queue.js').OpenHarnessedQueue} */
export default async function open({ databaseUrl, workerCount, queueCount }) {
  const identifiers = Array.from({ length: queueCount }, (_, index) => `bench_${index}`);
  await runMigrations({ connectionString: databaseUrl, logger });
  const pgPool = new Pool({ connectionString: databaseUrl, max: 10 });
  pgPool.on('error', () => undefined);
  pgPool.on('connect', (client) => client.on('error', () => undefined));
  const utils = await makeWorkerUtils({ pgPool, logger });
  let runner;
  const stopping = new AbortController();

  return {
    facts: {
      system: 'graphile-worker',
      version: `graphile-worker@${versionOf('graphile-worker')}`,
      schemaVersion: null,
      eventTables: ['graphile_worker._private_jobs'],
      extensions: [],
    },
    insert: (jobs, queue) =>
      utils.addJobs(jobs.map((payload) => ({ identifier: identifiers[queue], payload }))),
    work: async (handle) => {
      const taskList = Object.fromEntries(identifiers.map((identifier) => [identifier, handle]));
      // A pool of its own for every runner: one that gave up may never return its connections.
      const worker = {
        connectionString: databaseUrl,
        maxPoolSize: workerCount + 1,
        concurrentJobs: workerCount,
      };
      const preset = { worker: { ...worker, ...batches, logger } };
      const start = () => run({ preset, logger, taskList, noHandleSignals: true });
      runner = await start();
      void keepRunning(start);
    },
    depth: async () => {
      const { rows } = await pgPool.query(
        'select count(*) from graphile_worker._private_jobs where is_available and locked_at is null',
      );
      return Number(rows[0].count);
    },
    stop: async () => {
      stopping.abort();
      await runner.stop().catch(() => undefined);
      await utils.release();
    },
  };

  /** Starts a runner again that gave up after too many errors, as a supervisor would do with its process. */
  async function keepRunning(start) {
    while (!stopping.signal.aborted) {
      await runner.promise.catch(() => undefined);
      if (stopping.signal.aborted) return;
      process.stderr.write('[graphile-worker] the runner gave up\n');
      await pause(500);
      const next = await start().catch(() => undefined);
      if (next === undefined) continue;
      runner = next;
      process.stderr.write('[graphile-worker] the runner was started again\n');
    }
  }
}

function versionOf(name) {
  return JSON.parse(readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url), 'utf8'))
    .version;
}
