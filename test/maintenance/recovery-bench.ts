import { afterEach, beforeAll } from 'vitest';
import type { QueueModuleOptions } from '../../lib/index.js';
import type { Child } from '../support/processes.js';
import { createQueue } from '../support/queue-app.js';
import { createEffectTable, forkWorker } from '../support/worker-process.js';
import { useQueue, type QueueBench } from '../worker/queue-bench.js';

/** A worker in another process, which a test may kill. */
export type ChildWorker = Child & { readonly workerId: string };

/** What {@link useRecoveryBench} offers. */
export interface RecoveryBench extends QueueBench {
  startChild(options: QueueModuleOptions): Promise<ChildWorker>;
}

/** For a file of tests: a queue with a table for effects, and workers in processes that end with their test. */
export function useRecoveryBench(): RecoveryBench {
  const bench = useQueue('tasks_worker', 'effect');
  const children: Child[] = [];

  beforeAll(async () => {
    await createEffectTable(bench);
    await createQueue(bench.database);
  });
  afterEach(() => Promise.all(children.splice(0).map((child) => child.kill('SIGKILL'))));

  return Object.assign(bench, {
    async startChild(options: QueueModuleOptions): Promise<ChildWorker> {
      const child = forkWorker(bench.database, options);
      children.push(child);
      const { workerId } = await child.message('ready');
      return Object.assign(child, { workerId: String(workerId) });
    },
  });
}
