// BullMQ: https://docs.bullmq.io. What is the same on Redis and on PostgreSQL.
import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'pg';
import { compute } from './compute.mjs';

const jobName = 'bench';
const slowMs = 50;
const insertEffect = 'insert into effect (task) values ($1)';
/** Tried again after so long, in ms. Only where tasks fail. */
const retries = { attempts: 3, backoff: { type: 'fixed', delay: 100 } };

/** Topics are queues. */
export function queueNames(topics) {
  return Array.from({ length: topics }, (_, index) => `bench${index}`);
}

/**
 * @param {{ Queue: any, setting: string, topics: number, connection: object, backend?: any, close?: () => Promise<void> }} parts
 * @returns {Promise<import('../protocol.js').Producer>}
 */
export async function openProducer({ Queue, setting, topics, connection, backend, close }) {
  const queues = queueNames(topics).map((name) => new Queue(name, { connection }, backend));
  for (const queue of queues) await queue.waitUntilReady();
  const opts = setting === 'retry' ? retries : undefined;
  const many = async (index, payloads) => {
    const own = topics === 1 ? payloads : payloads.filter(({ i }) => i % topics === index);
    if (own.length > 0) await queues[index].addBulk(own.map((data) => ({ name: jobName, data, opts })));
  };
  return {
    one: (payload) => queues[payload.i % topics].add(jobName, payload, opts),
    many: (payloads) => Promise.all(queues.map((_, index) => many(index, payloads))),
    close: async () => {
      for (const queue of queues) await queue.close();
      await close?.();
    },
  };
}

/** Starts a worker for each queue and waits until they are connected. */
export async function startWorkers({ Worker, topics, options, writers, backend, database, kind, started }) {
  const handle = handlers(database, writers, started)[kind];
  for (const name of queueNames(topics)) {
    const worker = new Worker(name, handle, options, backend);
    worker.on('error', (error) => process.stderr.write(`bullmq: ${error.message}\n`));
    await worker.waitUntilReady();
  }
}

function handlers(database, writers, started) {
  const pool = new Pool({ connectionString: database, max: writers });
  return {
    empty: async (job) => started(job.data),
    'write-apart': async (job) => {
      started(job.data);
      await pool.query(insertEffect, [job.data.i]);
    },
    slow: async (job) => {
      started(job.data);
      await pause(slowMs);
    },
    compute: async (job) => {
      started(job.data);
      compute('compute');
    },
    'compute-long': async (job) => {
      started(job.data);
      compute('compute-long');
    },
    'fail-once': async (job) => {
      started(job.data);
      if (job.attemptsMade === 0) throw new Error('the first attempt fails');
    },
  };
}
