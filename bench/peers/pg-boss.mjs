// pg-boss: https://github.com/timgit/pg-boss
import { setTimeout as pause } from 'node:timers/promises';
import { Client, Pool } from 'pg';
import { PgBoss } from 'pg-boss';

const wholeBatches = { localConcurrency: 2, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };

/** @type {Record<string, { boss?: object, queue?: object, work: object, writers?: number, countsForMs?: number }>} */
const settings = {
  default: { work: {} },
  // Wakes by NOTIFY instead of polling every 2 s.
  notify: { boss: { useListenNotify: true }, queue: { notify: true }, work: {} },
  // The best rate found by hand: large batches, fetched again at once while they are full.
  tuned: { boss: { max: 10 }, work: { batchSize: 5_000, ...wholeBatches } },
  // A transaction of its own per job: the next one is fetched at once while the counted backlog is not empty.
  'one per transaction': {
    boss: { max: 40, monitorIntervalSeconds: 1, superviseIntervalSeconds: 1, queueCacheIntervalSeconds: 1 },
    work: {
      batchSize: 1,
      localConcurrency: 16,
      burstWhenReadyExceeds: 1,
      pollingIntervalSeconds: 0.5,
      transactional: true,
    },
    // Until the backlog is counted it would only poll.
    countsForMs: 3_500,
  },
  // One transaction per batch, all or nothing.
  grouped: { boss: { max: 10 }, work: { batchSize: 1_000, ...wholeBatches, transactional: true } },
  // 24 handlers at once, each with a connection.
  '24 at once': {
    boss: { max: 10 },
    work: { ...wholeBatches, batchSize: 24, localConcurrency: 1 },
    writers: 24,
  },
  // 100 at once in each of ten queues.
  '1000 at once': { boss: { max: 20 }, work: { ...wholeBatches, batchSize: 50 } },
  'batches of 1000': { boss: { max: 10 }, work: { batchSize: 1_000, ...wholeBatches } },
  // Every job of a batch has a result of its own; a failed one is tried again at once (retryDelay 0, the default).
  retry: { boss: { max: 10 }, work: { batchSize: 1_000, ...wholeBatches, perJobResults: true } },
};

const slowMs = 50;
const insertEffect = 'insert into effect (task) values ($1)';

/** @type {import('../protocol.js').OpenAdapter} */
export default function open({ database: connectionString, setting, topics }) {
  const chosen = settings[setting] ?? fail(`pg-boss has no setting ${setting}`);
  let prober;
  // Topics are queues.
  const queues = Array.from({ length: topics }, (_, index) => `bench${index}`);
  const queueOf = ({ i }) => queues[i % topics];

  return {
    setup: async () => {
      const boss = await start({ supervise: false, schedule: false });
      for (const queue of queues) await boss.createQueue(queue, { ...chosen.queue });
      await boss.stop({ graceful: false });
    },

    producer: async (connections) => {
      const boss = await start({ max: connections, supervise: false, schedule: false });
      return {
        one: (payload) => boss.send(queueOf(payload), payload),
        many: (payloads) =>
          Promise.all(
            [...groupedBy(payloads, queueOf)].map(([queue, group]) =>
              boss.insert(
                queue,
                group.map((data) => ({ data })),
              ),
            ),
          ),
        within: (client, payload) =>
          boss.send(queueOf(payload), payload, {
            db: { executeSql: (text, values) => client.query(text, values) },
          }),
        close: () => boss.stop({ graceful: false }),
      };
    },

    work: async (kind, started) => {
      const boss = await start(chosen.boss ?? {});
      if (chosen.countsForMs) await new Promise((resolve) => setTimeout(resolve, chosen.countsForMs));
      const metadata = kind === 'fail-once' ? { includeMetadata: true } : {};
      const handle = handlers(started)[kind];
      for (const queue of queues) await boss.work(queue, { ...chosen.work, ...metadata }, handle);
    },

    isDone: async () => {
      prober ??= await connect(connectionString);
      const { rows } = await prober.query(
        `select from pgboss.job where name = any($1) and state < 'completed' limit 1`,
        [queues],
      );
      return rows.length === 0;
    },
  };

  async function start(options) {
    const boss = new PgBoss({ connectionString, ...options });
    boss.on('error', (error) => process.stderr.write(`pg-boss: ${error.message}\n`));
    boss.on('warning', () => undefined);
    await boss.start();
    return boss;
  }

  function handlers(started) {
    const pool = new Pool({ connectionString, max: chosen.writers ?? 10 });
    return {
      empty: async (jobs) => {
        for (const { data } of jobs) started(data);
      },
      write: async (jobs, tx) => {
        for (const { data } of jobs) {
          started(data);
          await tx.executeSql(insertEffect, [data.i]);
        }
      },
      'write-apart': (jobs) =>
        Promise.all(
          jobs.map(({ data }) => {
            started(data);
            return pool.query(insertEffect, [data.i]);
          }),
        ),
      slow: async (jobs) => {
        for (const { data } of jobs) started(data);
        await pause(slowMs);
      },
      'fail-once': async (jobs) =>
        jobs.map(({ id, data, retryCount }) => {
          started(data);
          return { id, status: retryCount === 0 ? 'failed' : 'completed' };
        }),
    };
  }
}

/** In the order in which the groups first appear. */
function groupedBy(values, keyOf) {
  const groups = new Map();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group) group.push(value);
    else groups.set(key, [value]);
  }
  return groups;
}

async function connect(connectionString) {
  const client = new Client({ connectionString });
  await client.connect();
  return client;
}

function fail(message) {
  throw new Error(message);
}
