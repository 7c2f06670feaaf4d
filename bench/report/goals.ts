import type { Bar, Goal } from './goal.js';

const defaults = ['graphile-worker', 'pg-boss', 'bullmq on redis', 'bullmq on postgres'];
const tuned = [...defaults.map((peer) => `${peer}, tuned`), 'bare'];
const single = [...defaults, 'bare'];
const waiting = [...defaults, 'pg-boss, notify', 'bare, notify'];
const atOnce = [
  'graphile-worker, preset',
  ...['pg-boss', 'bullmq on redis', 'bullmq on postgres'].map((peer) => `${peer}, 24 at once`),
];
const idling = [...defaults, 'pg-boss, notify'];

const atLeast = (least: number, against: Bar['against'], scenario?: string): Bar => ({
  ...{ against, atLeast: least },
  ...(scenario !== undefined && { scenario }),
});
const atMost = (most: number, against: Bar['against']): Bar => ({ against, atMost: most });

/** What this library is to reach, beside what others reach. */
export const goals: readonly Goal[] = [
  ...drains(),
  ...transactions(),
  ...enqueues(),
  ...waits(50),
  ...waits(500),
  ...manyRoutes(),
  ...steadiness(),
  ...costs(),
  ...eventLoop(),
  ...idle(),
];

function drains(): readonly Goal[] {
  const byDefault = { scenario: 'drain: defaults', figure: 'perSecond', peers: defaults } as const;
  const one = { work: 'drain, tuned', scenario: 'drain: tuned' };
  const two = { work: 'drain, tuned, two processes', scenario: 'drain: two processes' };
  return [
    {
      ...byDefault,
      work: 'drain, defaults',
      goal: '2x the best peer, all at defaults',
      ours: 'tarefa',
      bars: [atLeast(2, defaults)],
    },
    {
      ...byDefault,
      work: 'drain, concurrency 100',
      goal: '5x the best peer at its defaults',
      ours: 'tarefa, concurrency 100',
      bars: [atLeast(5, defaults)],
    },
    ...[one, two].flatMap((drain): Goal[] => {
      const goal = { ...drain, figure: 'perSecond', ours: 'tarefa, tuned', peers: tuned } as const;
      return [
        { ...goal, goal: '1.0x graphile-worker', bars: [atLeast(1, ['graphile-worker, tuned'])] },
        { ...goal, goal: '0.8 of the bare loop', bars: [atLeast(0.8, ['bare'])] },
      ];
    }),
  ];
}

function transactions(): readonly Goal[] {
  const onePerTask = {
    work: 'one transaction per task',
    scenario: 'transaction: one per task',
    figure: 'perSecond',
    ours: 'tarefa, one per transaction',
    peers: ['pg-boss, one per transaction', 'bare'],
  } as const;
  return [
    {
      work: 'own commit, 24 at once',
      goal: '1.1x the best peer',
      scenario: 'transaction: own commit, 24 at once',
      figure: 'perSecond',
      ours: 'tarefa, 24 at once',
      peers: atOnce,
      bars: [atLeast(1.1, atOnce)],
    },
    {
      work: 'own commit, all at defaults',
      goal: '0.9x the best peer',
      scenario: 'transaction: own commit, defaults',
      figure: 'perSecond',
      ours: 'tarefa',
      peers: defaults,
      bars: [atLeast(0.9, defaults)],
    },
    { ...onePerTask, goal: '6x pg-boss', bars: [atLeast(6, ['pg-boss, one per transaction'])] },
    { ...onePerTask, goal: '0.85 of the bare loop', bars: [atLeast(0.85, ['bare'])] },
    {
      work: 'grouped transactions',
      goal: '1.0x pg-boss’s batch, or 0.85 of the bare loop in the same run',
      scenario: 'transaction: grouped',
      figure: 'perSecond',
      ours: 'tarefa, grouped',
      peers: ['pg-boss, grouped', 'bare, grouped'],
      bars: [atLeast(1, ['pg-boss, grouped']), { ...atLeast(0.85, ['bare, grouped']), withinRuns: true }],
    },
  ];
}

function enqueues(): readonly Goal[] {
  const enqueue = { figure: 'perSecond', ours: 'tarefa' } as const;
  return [
    {
      ...enqueue,
      work: 'enqueue one at a time, 16 connections',
      goal: '4.5x graphile-worker',
      scenario: 'enqueue: one at a time, 16 connections',
      peers: single,
      bars: [atLeast(4.5, ['graphile-worker'])],
    },
    {
      ...enqueue,
      work: 'enqueue in batches of 1,000',
      goal: '1.8x graphile-worker',
      scenario: 'enqueue: batches of 1000',
      peers: single,
      bars: [atLeast(1.8, ['graphile-worker'])],
    },
    {
      ...enqueue,
      work: 'enqueue inside a user’s transaction',
      goal: '1.2x the best peer',
      scenario: 'enqueue: inside a user transaction',
      peers: ['graphile-worker', 'pg-boss', 'bare'],
      bars: [atLeast(1.2, ['graphile-worker', 'pg-boss'])],
    },
  ];
}

function waits(perSecond: number): readonly Goal[] {
  const wait = { scenario: `wait: ${perSecond}/s`, ours: 'tarefa', peers: waiting };
  return [
    {
      ...wait,
      work: `wait at ${perSecond}/s, median ms, defaults`,
      goal: 'at most 0.9x graphile-worker',
      figure: 'medianMs',
      bars: [atMost(0.9, ['graphile-worker'])],
    },
    {
      ...wait,
      work: `wait at ${perSecond}/s, p99 ms, defaults`,
      goal: 'at most 1.0x graphile-worker, or within 5% of the bare loop',
      figure: 'p99Ms',
      bars: [atMost(1, ['graphile-worker']), atMost(1.05, ['bare, notify'])],
    },
  ];
}

function manyRoutes(): readonly Goal[] {
  const handler = 'routes of one handler';
  const rate = { figure: 'perSecond', peers: [] } as const;
  return [
    {
      ...rate,
      work: '100 topics, order `age`',
      goal: '0.85 of one topic',
      scenario: 'routes: 100',
      ours: 'tarefa, tuned',
      bars: [atLeast(0.85, ['tarefa, tuned'], 'routes: 1')],
    },
    {
      ...rate,
      work: '100,000 routes',
      goal: '0.5 of one topic’s rate',
      scenario: `${handler}: 100,000`,
      ours: 'tarefa, every topic',
      peers: ['graphile-worker, tuned'],
      bars: [atLeast(0.5, ['tarefa, every topic'], `${handler}: 1`)],
    },
    {
      ...rate,
      work: '10,000 webhook endpoints',
      goal: '0.7 of the rate with 50',
      scenario: 'webhooks: 10,000 endpoints',
      ours: 'tarefa, webhooks',
      bars: [atLeast(0.7, ['tarefa, webhooks'], 'webhooks: 50 endpoints')],
    },
  ];
}

function steadiness(): readonly Goal[] {
  const peers = tuned.filter((peer) => peer !== 'bullmq on redis, tuned');
  const held = { scenario: 'held snapshot', figure: 'ratio', peers } as const;
  return [
    {
      ...held,
      work: 'held snapshot for 60 s, tuned',
      goal: 'last 10 s at least 0.9 of the first',
      ours: 'tarefa, tuned',
      bars: [atLeast(0.9, 1)],
    },
    {
      ...held,
      work: 'held snapshot for 60 s, defaults',
      goal: 'last 10 s at least 0.95 of the first',
      ours: 'tarefa',
      bars: [atLeast(0.95, 1)],
    },
    {
      work: 'retry storm',
      goal: '1.0x pg-boss',
      scenario: 'retry storm',
      figure: 'perSecond',
      ours: 'tarefa, retry',
      peers: ['graphile-worker, preset', ...defaults.slice(1).map((peer) => `${peer}, retry`)],
      bars: [atLeast(1, ['pg-boss, retry'])],
    },
    {
      work: '60 old partitions',
      goal: '0.9 of the same history in one table',
      scenario: 'partitions: 60',
      figure: 'perSecond',
      ours: 'tarefa, partitioned',
      peers: [],
      bars: [atLeast(0.9, ['tarefa, tuned'])],
    },
  ];
}

function costs(): readonly Goal[] {
  const drain = { scenario: 'drain: tuned', ours: 'tarefa, tuned', peers: tuned };
  return [
    {
      ...drain,
      work: 'PostgreSQL CPU s per 10,000, tuned drain',
      goal: 'at most 1.15x the bare loop',
      figure: 'postgresCpuPer10k',
      bars: [atMost(1.15, ['bare'])],
    },
    {
      ...drain,
      work: 'Node CPU s per 10,000, tuned drain',
      goal: 'at most 2x the bare loop',
      figure: 'workerCpuPer10k',
      bars: [atMost(2, ['bare'])],
    },
    {
      work: 'peak RSS MB, tuned, 1,000,000 pending',
      goal: 'below 180',
      scenario: 'backlog: 1,000,000',
      figure: 'peakRssMb',
      ours: 'tarefa, tuned',
      peers: tuned,
      bars: [atMost(1, 180)],
    },
  ];
}

/** What Node's guide asks for. */
function eventLoop(): readonly Goal[] {
  const drained = { scenario: 'drain: defaults', ours: 'tarefa', peers: defaults } as const;
  return [
    {
      ...drained,
      work: 'loop delay p99 ms, drain at defaults',
      goal: 'below 50',
      figure: 'loopP99Ms',
      bars: [atMost(1, 50)],
    },
    {
      ...drained,
      work: 'loop delay max ms, drain at defaults',
      goal: 'below 200',
      figure: 'loopMaxMs',
      bars: [atMost(1, 200)],
    },
    {
      work: 'loop delay p99 ms, fan-out of 5,000',
      goal: 'below 50',
      scenario: 'fan-out: 5,000',
      figure: 'loopP99Ms',
      ours: 'tarefa, fan-out',
      peers: [],
      bars: [atMost(1, 50)],
    },
    ...['isolated: 20 ms of CPU', 'isolated: 5 s of CPU'].map((scenario): Goal => ({
      work: `HTTP max ms, ${scenario.replace('isolated: ', '')} in a thread`,
      goal: 'below 100',
      scenario,
      figure: 'httpMaxMs',
      ours: 'tarefa, threads',
      peers: ['bullmq on redis, threads'],
      bars: [atMost(1, 100)],
    })),
  ];
}

function idle(): readonly Goal[] {
  const alone = { scenario: 'idle', ours: 'tarefa', peers: idling };
  return [
    {
      ...alone,
      work: 'statements a minute, one idle worker',
      goal: 'at most 8, plus 12 as the one that recovers',
      figure: 'statementsPerMinute',
      bars: [atMost(1, 20)],
    },
    {
      ...alone,
      work: 'statements a minute, two idle workers',
      goal: 'at most 8 each, plus 12 of the one that recovers',
      scenario: 'idle: two workers',
      peers: ['graphile-worker', 'pg-boss'],
      figure: 'statementsPerMinute',
      bars: [atMost(1, 28)],
    },
    {
      ...alone,
      work: 'statements a minute, 10,000 schedules',
      goal: 'at most 20, as without them',
      scenario: 'idle: 10,000 schedules',
      peers: [],
      figure: 'statementsPerMinute',
      bars: [atMost(1, 20)],
    },
    {
      ...alone,
      work: 'CPU ms a minute, idle',
      goal: 'below every peer',
      figure: 'workerCpuMsPerMinute',
      bars: [atMost(1, idling)],
    },
    {
      ...alone,
      work: 'RSS MB, idle',
      goal: 'within 5% of pg-boss and graphile-worker',
      figure: 'rssMb',
      bars: [atMost(1.05, ['graphile-worker', 'pg-boss'])],
    },
  ];
}
