// BullMQ on Redis, without persistence: a job that was accepted is lost when Redis ends.
import { availableParallelism } from 'node:os';
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { openProducer, queueNames, startWorkers } from './bullmq.mjs';

/** @type {Record<string, object>} */
const settings = {
  default: {},
  // 20, 50, 100 and 300 at once are equally fast; finished jobs are removed.
  tuned: { concurrency: 100, removeOnComplete: { count: 0 } },
  '24 at once': { concurrency: 24 },
  // In each of ten queues 100.
  '1000 at once': { concurrency: 100, removeOnComplete: { count: 0 } },
  retry: { concurrency: 100, removeOnComplete: { count: 0 } },
  threads: { useWorkerThreads: true },
  processes: { useWorkerThreads: false },
};

/** As many as this library has by default. */
const defaultChildren = Math.min(5, Math.max(1, availableParallelism() - 1));

/** @type {import('../protocol.js').OpenAdapter} */
export default function open({ database, redisPort, setting, topics }) {
  const connection = { host: '127.0.0.1', port: redisPort };
  const work = settings[setting];
  if (work === undefined) throw new Error(`bullmq has no setting ${setting}`);
  let probers;

  return {
    setup: async () => {
      const redis = new Redis(connection);
      await redis.flushall();
      await redis.quit();
    },
    producer: () => openProducer({ Queue, setting, topics, connection }),
    work: async (kind, started, children = defaultChildren) => {
      const options = { connection, ...work };
      if ('useWorkerThreads' in work) {
        await startSandbox({ ...options, concurrency: children }, kind, started);
      } else {
        const writers = setting === '24 at once' ? 24 : 10;
        await startWorkers({ Worker, topics, options, writers, database, kind, started });
      }
    },
    isDone: async () => {
      probers ??= queueNames(topics).map((name) => new Queue(name, { connection }));
      for (const prober of probers) {
        const counts = await prober.getJobCounts('wait', 'active', 'prioritized', 'delayed');
        if (Object.values(counts).some((count) => count > 0)) return false;
      }
      return true;
    },
  };
}

/** Runs handlers in threads or processes, of which as many start as run at once. */
async function startSandbox(options, kind, started) {
  process.env.BENCH_KIND = kind;
  const file = new URL('bullmq-sandboxed.mjs', import.meta.url);
  const worker = new Worker(queueNames(1)[0], file, options);
  worker.on('error', (error) => process.stderr.write(`bullmq: ${error.message}\n`));
  worker.on('completed', (job) => started(job.data));
  await worker.waitUntilReady();
}
