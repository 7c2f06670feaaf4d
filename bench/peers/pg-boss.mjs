// pg-boss: https://github.com/timgit/pg-boss
import { Client, Pool } from 'pg';
import { PgBoss } from 'pg-boss';

const wholeBatches = { localConcurrency: 2, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };

/** @type {Record<string, { boss?: object, queue?: object, work: object }>} */
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
  'own commit': { boss: { max: 10 }, work: { batchSize: 1_000, ...wholeBatches } },
  // Every job of a batch has a result of its own; a failed one is tried again at once (retryDelay 0, the default).
  retry: { boss: { max: 10 }, work: { batchSize: 1_000, ...wholeBatches, perJobResults: true } },
};

const queue = 'bench';
const insertEffect = 'insert into effect (task) values ($1)';

/** @type {import('../protocol.js').OpenAdapter} */
export default function open({ postgres: connectionString, setting }) {
  const chosen = settings[setting] ?? fail(`pg-boss has no setting ${setting}`);
  let prober;

  return {
    setup: async () => {
      const boss = await start({ supervise: false, schedule: false });
      await boss.createQueue(queue, { ...chosen.queue });
      await boss.stop({ graceful: false });
    },

    producer: async (connections) => {
      const boss = await start({ max: connections, supervise: false, schedule: false });
      return {
        one: (payload) => boss.send(queue, payload),
        many: (payloads) =>
          boss.insert(
            queue,
            payloads.map((data) => ({ data })),
          ),
        within: (client, payload) =>
          boss.send(queue, payload, { db: { executeSql: (text, values) => client.query(text, values) } }),
        close: () => boss.stop({ graceful: false }),
      };
    },

    work: async (kind, started) => {
      const boss = await start(chosen.boss ?? {});
      if (chosen.countsForMs) await new Promise((resolve) => setTimeout(resolve, chosen.countsForMs));
      const metadata = kind === 'fail-once' ? { includeMetadata: true } : {};
      await boss.work(queue, { ...chosen.work, ...metadata }, handlers(started)[kind]);
    },

    isDone: async () => {
      prober ??= await connect(connectionString);
      const { rows } = await prober.query(
        `select from pgboss.job where name = '${queue}' and state < 'completed' limit 1`,
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
    const pool = new Pool({ connectionString, max: 10 });
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
      'fail-once': async (jobs) =>
        jobs.map(({ id, data, retryCount }) => {
          started(data);
          return { id, status: retryCount === 0 ? 'failed' : 'completed' };
        }),
    };
  }
}

async function connect(connectionString) {
  const client = new Client({ connectionString });
  await client.connect();
  return client;
}

function fail(message) {
  throw new Error(message);
}
