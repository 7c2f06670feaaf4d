import { setTimeout as pause } from 'node:timers/promises';
import { TaskHandler } from '../../lib/index.js';
import { openQueue } from '../queue.js';
import type { Scenario } from '../scenario.js';

const waits: number[] = [];

class Stopwatch {
  @TaskHandler()
  run({ at }: { at: number }): void {
    waits.push(performance.now() - at);
  }
}

/** Time from the call that inserts to the handler's start, at so many tasks per second. */
export function wait(perSecond: number, seconds: number): Scenario {
  return {
    name: `wait at ${perSecond}/s`,
    run: async ({ url, scale }) => {
      const queue = await openQueue(url, [Stopwatch]);
      try {
        await queue.worker.start();
        waits.length = 0;
        const count = Math.max(50, Math.round(perSecond * seconds * scale));
        const start = performance.now();
        for (let index = 0; index < count; index += 1) {
          await pause(Math.max(0, start + (index * 1_000) / perSecond - performance.now()));
          await queue.client.insertTask({ topic: 't', payload: { at: performance.now() } });
        }
        while (waits.length < count) await pause(10);
        waits.sort((a, b) => a - b);
        const at = (share: number): number => Number((waits[Math.floor(count * share)] ?? 0).toFixed(2));
        return { medianMs: at(0.5), p99Ms: at(0.99) };
      } finally {
        await queue.close();
      }
    },
  };
}
