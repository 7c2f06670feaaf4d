// BullMQ on PostgreSQL, its second backend.
import { createPostgresBackend, Queue, runMigrations, Worker } from 'bullmq';
import { Client, Pool } from 'pg';
import { openProducer, startWorkers } from './bullmq.mjs';

const schema = 'bullmq';

/** @type {Record<string, { connections: number, work: object }>} */
const settings = {
  default: { connections: 10, work: {} },
  // 8, 16 and 64 at once are slower; finished jobs are removed.
  tuned: { connections: 32, work: { concurrency: 32, removeOnComplete: { count: 0 } } },
  '24 at once': { connections: 24, work: { concurrency: 24 } },
  // In each of ten queues 100. They share the connections.
  '1000 at once': { connections: 32, work: { concurrency: 100, removeOnComplete: { count: 0 } } },
  retry: { connections: 32, work: { concurrency: 32, removeOnComplete: { count: 0 } } },
};

/** @type {import('../protocol.js').OpenAdapter} */
export default function open({ database, setting, topics }) {
  const { connections, work } = settings[setting] ?? fail(`bullmq has no setting ${setting}`);
  let prober;

  return {
    setup: async () => {
      const client = new Client({ connectionString: database });
      await client.connect();
      await runMigrations(client, schema, {});
      await client.end();
    },
    producer: async (most) => {
      const connection = openPool(most);
      return openProducer({
        ...{ Queue, setting, topics, connection, backend: createPostgresBackend },
        close: () => connection.end(),
      });
    },
    work: (kind, started) =>
      startWorkers({
        ...{ Worker, topics, backend: createPostgresBackend, database, kind, started },
        writers: setting === '24 at once' ? 24 : 10,
        options: { connection: openPool(connections + 1), ...work },
      }),
    isDone: async () => {
      prober ??= openPool(1);
      const { rows } = await prober.query(
        `select from ${schema}.job where state in ('waiting', 'active', 'delayed') limit 1`,
      );
      return rows.length === 0;
    },
  };

  function openPool(max) {
    const options = `-c search_path=${schema}`;
    const pool = new Pool({ connectionString: database, max, options });
    pool.on('error', () => undefined);
    return pool;
  }
}

function fail(message) {
  throw new Error(message);
}
