import type { FigureName } from '../scenario.js';

/** A line of the table of goals. */
export interface Goal {
  readonly work: string;
  readonly goal: string;
  readonly scenario: string;
  readonly figure: FigureName;
  /** Whose figure is to reach the goal. */
  readonly ours: string;
  /** Shown beside it. */
  readonly peers: readonly string[];
  /** Compared with the best of these, or with a fixed value. */
  readonly against?: readonly string[];
  readonly fixed?: number;
  /** Ours divided by the other must be at least, or at most, this. */
  readonly atLeast?: number;
  readonly atMost?: number;
}

const defaults = ['graphile-worker', 'pg-boss', 'bullmq on redis', 'bullmq on postgres'];
const tuned = [...defaults.map((peer) => `${peer}, tuned`), 'bare'];
const single = ['graphile-worker', 'pg-boss', 'bullmq on redis', 'bullmq on postgres', 'bare'];
const waiting = [
  'graphile-worker',
  'graphile-worker, tuned',
  'pg-boss, notify',
  'bullmq on redis',
  'bullmq on postgres',
  'bare, notify',
];

const drainDefaults = {
  scenario: 'drain: defaults',
  figure: 'perSecond',
  peers: defaults,
  against: defaults,
} as const;
const drainTuned = { scenario: 'drain: tuned', ours: 'tarefa, tuned', peers: tuned } as const;
const onePerTask = {
  scenario: 'transaction: one per task',
  figure: 'perSecond',
  ours: 'tarefa, one per transaction',
  peers: ['pg-boss, one per transaction', 'bare'],
} as const;
const wait = { scenario: 'wait: 50/s', ours: 'tarefa', peers: waiting } as const;

/** What this library is to reach, beside what others reach. */
export const goals: readonly Goal[] = [
  {
    ...drainDefaults,
    work: 'drain, defaults',
    goal: '2x the best peer at its defaults',
    ours: 'tarefa',
    atLeast: 2,
  },
  {
    ...drainDefaults,
    work: 'drain, concurrency 100',
    goal: '5x the best peer at its defaults',
    ours: 'tarefa, concurrency 100',
    atLeast: 5,
  },
  {
    ...drainTuned,
    work: 'drain, tuned',
    goal: 'above graphile-worker’s best',
    figure: 'perSecond',
    against: ['graphile-worker, tuned'],
    atLeast: 1,
  },
  {
    ...drainTuned,
    work: 'drain, tuned',
    goal: '75% of the bare loop',
    figure: 'perSecond',
    against: ['bare'],
    atLeast: 0.75,
  },
  {
    ...onePerTask,
    work: 'one transaction per task',
    goal: '8x pg-boss',
    against: ['pg-boss, one per transaction'],
    atLeast: 8,
  },
  {
    ...onePerTask,
    work: 'one transaction per task',
    goal: '90% of the bare loop',
    against: ['bare'],
    atLeast: 0.9,
  },
  {
    work: 'grouped transactions',
    goal: 'above pg-boss’s batch',
    scenario: 'transaction: grouped',
    figure: 'perSecond',
    ours: 'tarefa, grouped',
    peers: ['pg-boss, grouped', 'bare, grouped'],
    against: ['pg-boss, grouped'],
    atLeast: 1,
  },
  {
    work: 'enqueue one at a time, 16 connections',
    goal: '4x graphile-worker',
    scenario: 'enqueue: one at a time, 16 connections',
    figure: 'perSecond',
    ours: 'tarefa',
    peers: single,
    against: ['graphile-worker'],
    atLeast: 4,
  },
  {
    work: 'enqueue in batches of 1,000',
    goal: '1.8x graphile-worker',
    scenario: 'enqueue: batches of 1000',
    figure: 'perSecond',
    ours: 'tarefa',
    peers: single,
    against: ['graphile-worker'],
    atLeast: 1.8,
  },
  {
    work: 'enqueue inside a user’s transaction',
    goal: 'at least a bare INSERT with NOTIFY',
    scenario: 'enqueue: inside a user transaction',
    figure: 'perSecond',
    ours: 'tarefa',
    peers: ['graphile-worker', 'pg-boss', 'bare'],
    against: ['bare'],
    atLeast: 1,
  },
  {
    ...wait,
    work: 'wait at 50/s, median ms',
    goal: 'below 1.5 ms',
    figure: 'medianMs',
    fixed: 1.5,
    atMost: 1,
  },
  {
    ...wait,
    work: 'wait at 50/s, p99 ms',
    goal: 'below graphile-worker’s',
    figure: 'p99Ms',
    against: ['graphile-worker', 'graphile-worker, tuned'],
    atMost: 1,
  },
  {
    work: 'held snapshot for 60 s, tuned',
    goal: 'last 10 s at least 90% of the first',
    scenario: 'held snapshot',
    figure: 'ratio',
    ours: 'tarefa, tuned',
    peers: tuned,
    fixed: 1,
    atLeast: 0.9,
  },
  {
    work: 'held snapshot for 60 s, defaults',
    goal: 'last 10 s at least 90% of the first',
    scenario: 'held snapshot',
    figure: 'ratio',
    ours: 'tarefa',
    peers: tuned,
    fixed: 1,
    atLeast: 0.9,
  },
  {
    ...drainTuned,
    work: 'Node CPU s per 10,000, tuned drain',
    goal: 'at most 0.08',
    figure: 'workerCpuPer10k',
    fixed: 0.08,
    atMost: 1,
  },
  {
    ...drainTuned,
    work: 'PostgreSQL CPU s per 10,000, tuned drain',
    goal: 'at most 0.15',
    figure: 'postgresCpuPer10k',
    fixed: 0.15,
    atMost: 1,
  },
  {
    work: 'peak RSS MB, tuned, 1,000,000 pending',
    goal: 'below 180',
    scenario: 'backlog: 1,000,000',
    figure: 'peakRssMb',
    ours: 'tarefa, tuned',
    peers: tuned,
    fixed: 180,
    atMost: 1,
  },
  {
    work: 'statements a minute, idle',
    goal: 'at most 8, and 12 on the one that recovers',
    scenario: 'idle',
    figure: 'statementsPerMinute',
    ours: 'tarefa',
    peers: defaults,
    fixed: 20,
    atMost: 1,
  },
];
