// BullMQ on Redis, without persistence: a job that was accepted is lost when Redis ends.
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { name, openProducer, startWorker } from './bullmq.mjs';

/** @type {Record<string, object>} */
const settings = {
  default: {},
  // 20, 50, 100 and 300 at once are equally fast; finished jobs are removed.
  tuned: { concurrency: 100, removeOnComplete: { count: 0 } },
  retry: { concurrency: 100, removeOnComplete: { count: 0 } },
};

/** @type {import('../protocol.js').OpenAdapter} */
export default function open({ postgres, redisPort, setting }) {
  const connection = { host: '127.0.0.1', port: redisPort };
  const work = settings[setting];
  if (work === undefined) throw new Error(`bullmq has no setting ${setting}`);
  let prober;

  return {
    setup: async () => {
      const redis = new Redis(connection);
      await redis.flushall();
      await redis.quit();
    },
    producer: () => openProducer({ Queue, setting, connection }),
    work: (kind, started) =>
      startWorker({ Worker, options: { connection, ...work }, postgres, kind, started }),
    isDone: async () => {
      prober ??= new Queue(name, { connection });
      const counts = await prober.getJobCounts('wait', 'active', 'prioritized', 'delayed');
      return Object.values(counts).every((count) => count === 0);
    },
  };
}
