import type { Produced } from '../processes/child-calls.js';
import type { Figures, Outcome, Scenario, Size } from '../scenario.js';
import { usageBetween } from '../servers/meter.js';
import type { Stage } from '../stage.js';
import { defined, shares } from './working.js';

/** What a table of inserts shows. */
export const enqueueColumns = [
  'perSecond',
  'workerCpuPer10k',
  'postgresCpuPer10k',
  'walBytesPerTask',
  'commitsPerTask',
  'producerPeakRssMb',
  'otherCores',
] as const;

const everyone = [
  'tarefa',
  'graphile-worker',
  'pg-boss',
  'pg-boss, notify',
  'bullmq on redis',
  'bullmq on postgres',
  'bare',
];

/** No worker runs while tasks are inserted. */
export const enqueues: readonly Scenario[] = [
  {
    name: 'enqueue: one at a time, 1 connection',
    about: 'One insert after another by one process, each committed before the next begins; no worker runs.',
    peers: [...everyone, 'bare, notify'],
    columns: enqueueColumns,
    run: (stage, size) => enqueueSingly(stage, { connections: 1, size, within: false }),
  },
  {
    name: 'enqueue: one at a time, 16 connections',
    about: 'The same over 16 connections at once.',
    peers: [...everyone, 'bare, notify'],
    columns: enqueueColumns,
    quick: ['tarefa', 'graphile-worker', 'pg-boss', 'bullmq on redis', 'bullmq on postgres', 'bare'],
    run: (stage, size) => enqueueSingly(stage, { connections: 16, size, within: false }),
  },
  {
    name: 'enqueue: batches of 1000',
    about: 'Batches of 1,000 one after another on one connection, by each queue’s function for many.',
    peers: everyone.filter((peer) => peer !== 'pg-boss, notify'),
    columns: enqueueColumns,
    quick: true,
    run: (stage, size) => enqueueBatches(stage, 1_000, size === 'full' ? 100_000 : 30_000),
  },
  {
    name: 'enqueue: inside a user transaction',
    about:
      'Transactions of a user over 16 connections: BEGIN, one row of the user’s own, the task, COMMIT. The bare ' +
      'loop’s INSERT rings by the table’s trigger.',
    peers: ['tarefa', 'graphile-worker', 'pg-boss', 'pg-boss, notify', 'bare'],
    skips: {
      'bullmq on redis': 'it cannot insert in a transaction of the user',
      'bullmq on postgres': 'it cannot insert in a transaction of the user',
    },
    columns: enqueueColumns,
    run: (stage, size) => enqueueSingly(stage, { connections: 16, size, within: true }),
  },
];

/** How tasks are inserted one at a time; `within`: each in a transaction of the user's. */
interface Singly {
  readonly connections: number;
  readonly size: Size;
  readonly within: boolean;
}

/** One insert at a time on each connection, for some seconds. */
export function enqueueSingly(stage: Stage, { connections, size, within }: Singly): Promise<Outcome> {
  const seconds = size === 'full' ? 4 : 1;
  return measured(stage, () => stage.desk.call('enqueueSingly', connections, seconds, within));
}

/** Batches of that size one after another on one connection. */
export function enqueueBatches(stage: Stage, batch: number, tasks: number): Promise<Outcome> {
  return measured(stage, () => stage.desk.call('enqueueBatches', batch, tasks));
}

async function measured(stage: Stage, produce: () => Promise<Produced>): Promise<Outcome> {
  await stage.settle();
  const commits = await stage.meter.commits();
  const before = await stage.meter.read();
  const own = process.cpuUsage();
  const { tasks, seconds, cpuSeconds, peakRssBytes } = await produce();
  const usage = usageBetween(before, await stage.meter.read());
  const { user, system } = process.cpuUsage(own);
  await stage.endProcesses();
  const figures: Figures = {
    perSecond: tasks / seconds,
    tasks,
    seconds,
    ...shares(usage, [], { tasks, seconds, own: (user + system) / 1e6 + cpuSeconds }),
    workerCpuPer10k: (cpuSeconds / tasks) * 10_000,
    commitsPerTask: ((await stage.meter.commits()) - commits) / tasks,
    producerPeakRssMb: peakRssBytes / 2 ** 20,
  };
  return { figures: defined({ ...figures, peakRssMb: undefined }) };
}
