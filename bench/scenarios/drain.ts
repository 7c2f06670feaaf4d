import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { fill, openQueue } from '../queue.js';
import type { Scenario } from '../scenario.js';

/** Counts down to the end of a run. */
class Countdown {
  left = 0;
  #done: (() => void) | undefined;

  run(count: number): Promise<void> {
    this.left = count;
    return new Promise((resolve) => (this.#done = resolve));
  }

  tick(): void {
    this.left -= 1;
    if (this.left === 0) this.#done?.();
  }
}

const countdown = new Countdown();

class NoOp {
  @TaskHandler()
  run(): void {
    countdown.tick();
  }
}

class WritesOneRow {
  @TaskHandler()
  async run(payload: { i: number }, ctx: TaskContext): Promise<void> {
    await ctx.db.query('insert into bench.effect (task) values ($1)', [payload.i]);
    countdown.tick();
  }
}

interface DrainVariant {
  readonly name: string;
  readonly tasks: number;
  readonly concurrency?: number;
  readonly topics?: number;
  readonly writes?: boolean;
}

/** Empties a backlog; tasks per second from the start of the worker to the last handler. */
export function drain({ name, tasks, concurrency, topics = 1, writes = false }: DrainVariant): Scenario {
  return {
    name,
    run: async ({ url, scale }) => {
      const count = Math.max(100, Math.round(tasks * scale));
      const options = concurrency === undefined ? {} : { concurrency };
      const queue = await openQueue(url, [writes ? WritesOneRow : NoOp], options);
      try {
        await queue.pool.query('create table bench.effect (task bigint)');
        await fill(queue, count, topics);
        const done = countdown.run(count);
        const cpu = process.cpuUsage();
        const start = performance.now();
        await queue.worker.start();
        await done;
        const seconds = (performance.now() - start) / 1_000;
        const used = process.cpuUsage(cpu);
        return {
          perSecond: Math.round(count / seconds),
          nodeCpuPer10k: Number((((used.user + used.system) / 1e6 / count) * 10_000).toFixed(3)),
        };
      } finally {
        await queue.close();
      }
    },
  };
}
