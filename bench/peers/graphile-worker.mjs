// graphile-worker: https://worker.graphile.org
import { setTimeout as pause } from 'node:timers/promises';
import { Logger, makeWorkerUtils, run, runMigrations } from 'graphile-worker';
import { Client, Pool } from 'pg';

/** @type {Record<string, { enqueue?: object, work: object }>} */
const settings = {
  default: { work: {} },
  // Its own performance test's preset, with the best local queue and batching delays found by hand.
  tuned: {
    work: {
      concurrentJobs: 10,
      maxPoolSize: 25,
      localQueue: { size: 5_000 },
      completeJobBatchDelay: 20,
      failJobBatchDelay: 20,
    },
  },
  // The same for handlers that wait: its local queue holds what the next ones start with.
  '1000 at once': {
    work: {
      concurrentJobs: 1_000,
      maxPoolSize: 25,
      localQueue: { size: 5_000 },
      completeJobBatchDelay: 20,
      failJobBatchDelay: 20,
    },
  },
  // That preset as it is: for handlers with statements of their own, and where tasks fail.
  preset: {
    work: {
      concurrentJobs: 24,
      maxPoolSize: 25,
      localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
    },
  },
};

const identifier = 'bench';
const slowMs = 50;
const insertEffect = 'insert into effect (task) values ($1)';
const logger = new Logger(() => () => undefined);

/** @type {import('../protocol.js').OpenAdapter} */
export default function open({ database: connectionString, setting, topics }) {
  const { work } = settings[setting] ?? fail(`graphile-worker has no setting ${setting}`);
  let prober;
  // Topics are task identifiers.
  const identifiers = Array.from({ length: topics }, (_, index) => `${identifier}${index}`);
  const identifierOf = ({ i }) => identifiers[i % topics];

  return {
    setup: () => runMigrations({ connectionString, logger }),

    producer: async (connections) => {
      const pgPool = new Pool({ connectionString, max: connections });
      pgPool.on('error', () => undefined);
      pgPool.on('connect', (client) => client.on('error', () => undefined));
      const utils = await makeWorkerUtils({ pgPool, logger });
      return {
        one: (payload) => utils.addJob(identifierOf(payload), payload),
        many: (payloads) =>
          utils.addJobs(payloads.map((payload) => ({ identifier: identifierOf(payload), payload }))),
        within: (client, payload) =>
          client.query({
            name: 'add_job',
            text: 'select graphile_worker.add_job($1, $2::json)',
            values: [identifierOf(payload), JSON.stringify(payload)],
          }),
        close: async () => {
          await utils.release();
          await pgPool.end();
        },
      };
    },

    work: async (kind, started) => {
      const tasks = {
        empty: (payload) => started(payload),
        'write-apart': async (payload, helpers) => {
          started(payload);
          await helpers.query(insertEffect, [payload.i]);
        },
        slow: async (payload) => {
          started(payload);
          await pause(slowMs);
        },
        'fail-once': (payload, helpers) => {
          started(payload);
          if (helpers.job.attempts === 1) throw new Error('the first attempt fails');
        },
      };
      const task = tasks[kind] ?? fail(`graphile-worker cannot ${kind}`);
      const preset = { worker: { connectionString, logger, ...work } };
      const taskList = Object.fromEntries(identifiers.map((name) => [name, task]));
      await run({ preset, logger, taskList, noHandleSignals: true });
    },

    isDone: async () => {
      prober ??= await connect(connectionString);
      const { rows } = await prober.query('select from graphile_worker._private_jobs limit 1');
      return rows.length === 0;
    },
  };
}

async function connect(connectionString) {
  const client = new Client({ connectionString });
  await client.connect();
  return client;
}

function fail(message) {
  throw new Error(message);
}
