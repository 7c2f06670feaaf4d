import { slowMs } from '../protocol.js';
import type { Scenario } from '../scenario.js';
import { drain, drainColumns } from './working.js';

const topics = 10;

/** Handlers that wait for others most of their time: how many of them run at once is what counts. */
export const slowHandlers: Scenario = {
  name: '10 slow handlers',
  about:
    `A backlog of 100,000 tasks over ${topics} topics (queues, task identifiers), each with a handler that waits ${slowMs} ms ` +
    'on a timer. 1,000 run at once in one process, so that none can do more than 20,000 a second; pg-boss and BullMQ ' +
    'give 100 to each of ten queues. A run is cut after 30 s.',
  peers: [
    'tarefa, tuned',
    'graphile-worker, 1000 at once',
    'pg-boss, 1000 at once',
    'bullmq on redis, 1000 at once',
    'bullmq on postgres, 1000 at once',
  ],
  skips: { bare: 'its loop waits for every batch' },
  columns: drainColumns,
  topics,
  run: (stage, size) =>
    drain(stage, {
      tasks: size === 'full' ? 100_000 : 20_000,
      kind: 'slow',
      limitSeconds: size === 'full' ? 30 : 10,
    }),
};
