// BullMQ: https://docs.bullmq.io. What is the same on Redis and on PostgreSQL.
import { Pool } from 'pg';

const name = 'bench';
const insertEffect = 'insert into effect (task) values ($1)';
/** Tried again after so long, in ms. Only where tasks fail. */
const retries = { attempts: 3, backoff: { type: 'fixed', delay: 100 } };

/**
 * @param {{ Queue: any, setting: string, connection: object, backend?: any }} parts
 * @returns {Promise<import('../protocol.js').Producer>}
 */
export async function openProducer({ Queue, setting, connection, backend, close }) {
  const queue = new Queue(name, { connection }, backend);
  await queue.waitUntilReady();
  const opts = setting === 'retry' ? retries : undefined;
  return {
    one: (payload) => queue.add(name, payload, opts),
    many: (payloads) => queue.addBulk(payloads.map((data) => ({ name, data, opts }))),
    close: async () => {
      await queue.close();
      await close?.();
    },
  };
}

/** Starts a worker and waits until it is connected. */
export async function startWorker({ Worker, options, backend, postgres, kind, started }) {
  const worker = new Worker(name, handlers(postgres, started)[kind], options, backend);
  worker.on('error', (error) => process.stderr.write(`bullmq: ${error.message}\n`));
  await worker.waitUntilReady();
}

function handlers(postgres, started) {
  const pool = new Pool({ connectionString: postgres, max: 10 });
  return {
    empty: async (job) => started(job.data),
    'write-apart': async (job) => {
      started(job.data);
      await pool.query(insertEffect, [job.data.i]);
    },
    'fail-once': async (job) => {
      started(job.data);
      if (job.attemptsMade === 0) throw new Error('the first attempt fails');
    },
  };
}

export { name };
