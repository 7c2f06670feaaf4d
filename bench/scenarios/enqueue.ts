import { openQueue } from '../queue.js';
import type { Scenario } from '../scenario.js';

const payload = { i: 1, s: 'x'.repeat(40) };

/** Inserts one task at a time from `producers` at once. */
export function enqueueSingly(producers: number, tasks: number): Scenario {
  return {
    name: `enqueue one at a time, ${producers} at once`,
    run: async ({ url, scale }) => {
      const queue = await openQueue(url, [], { worker: false, poolSize: producers });
      try {
        let left = Math.round(tasks * scale);
        const count = left;
        const start = performance.now();
        const produce = async (): Promise<void> => {
          while (left-- > 0) await queue.client.insertTask({ topic: 't', payload });
        };
        await Promise.all(Array.from({ length: producers }, produce));
        return { perSecond: Math.round(count / ((performance.now() - start) / 1_000)) };
      } finally {
        await queue.close();
      }
    },
  };
}

/** Inserts batches one after another. */
export function enqueueBatches(size: number, tasks: number): Scenario {
  return {
    name: `enqueue in batches of ${size}`,
    run: async ({ url, scale }) => {
      const queue = await openQueue(url, [], { worker: false });
      try {
        const batches = Math.max(1, Math.round((tasks * scale) / size));
        const batch = Array.from({ length: size }, () => ({ topic: 't', payload }));
        const start = performance.now();
        for (let index = 0; index < batches; index += 1) await queue.client.insertTasks(batch);
        return { perSecond: Math.round((batches * size) / ((performance.now() - start) / 1_000)) };
      } finally {
        await queue.close();
      }
    },
  };
}
