import { setTimeout as pause } from 'node:timers/promises';
import { monotonicMs } from '../protocol.js';
import type { Outcome, Scenario, Size } from '../scenario.js';
import type { Stage } from '../stage.js';
import { waitFigures } from './wait.js';
import { drain } from './working.js';

const columns = [
  'perSecond',
  'workerCpuPer10k',
  'postgresCpuPer10k',
  'walBytesPerTask',
  'otherCores',
] as const;

const peers = ['tarefa, tuned', 'tarefa, fair'];

const ownOrders = 'measured for this library’s two orders only';
const skips = {
  'graphile-worker': ownOrders,
  'pg-boss': ownOrders,
  'bullmq on redis': ownOrders,
  'bullmq on postgres': ownOrders,
  bare: ownOrders,
};

/** Many topics in one queue, by age (the default) and shared out fairly. */
export const routes: readonly Scenario[] = [
  ...[1, 10, 100].map((topics): Scenario => ({
    name: `routes: ${topics}`,
    about: `A backlog of 100,000 tasks spread over ${topics} topics, each with a handler.`,
    peers,
    skips,
    columns,
    topics,
    run: (stage, size) => drain(stage, { tasks: size === 'full' ? 100_000 : 40_000, limitSeconds: 20 }),
  })),
  {
    name: 'routes: flooded and quiet',
    about:
      'One topic is flooded with 400,000 tasks. While they are worked off, another topic gets 50 tasks a second for ' +
      '3 s: how long those wait, and the rate of all.',
    peers,
    skips,
    columns: ['medianMs', 'p99Ms', 'maxMs', 'perSecond'],
    lessIsBetter: true,
    topics: 2,
    run: flood,
  },
];

async function flood(stage: Stage, size: Size): Promise<Outcome> {
  const perSecond = 50;
  const seconds = 3;
  const limitMs = 60_000;
  await stage.desk.call('fill', size === 'full' ? 400_000 : 100_000, 't0');
  await stage.settle();
  const { process: child, work } = await stage.addWorker();
  await work('empty', 0);
  const begun = monotonicMs();
  while (child.started === 0 && monotonicMs() - begun < limitMs) await pause(5);
  const before = { started: child.started, atMs: monotonicMs() };
  await stage.desk.call('enqueueEvenly', perSecond, seconds, 't1');
  const rate = ((child.started - before.started) / (monotonicMs() - before.atMs)) * 1_000;
  for (;;) {
    const { waitsMs, started } = await child.call('worked');
    const done = waitsMs.length >= perSecond * seconds;
    const figures = { ...waitFigures(waitsMs, started), perSecond: rate };
    if (done) return { figures };
    if (monotonicMs() - begun > limitMs) {
      return { figures, cut: `${waitsMs.length} quiet tasks had started after ${limitMs / 1_000} s` };
    }
    await pause(100);
  }
}
