import { setTimeout as pause } from 'node:timers/promises';
import { monotonicMs } from '../protocol.js';
import type { Crew } from '../processes/crew.js';
import type { Figures, Outcome, Scenario, Size } from '../scenario.js';
import { percentile } from '../statistics.js';
import { reach } from './working.js';

/** Connecting, preparing and the first plans are not what is asked for. */
const warmUpSeconds = 1;
/** After the last insert, how long its task may take to start. */
const patienceMs = 3_000;
const settleMs = 700;

const peers = [
  'tarefa',
  'graphile-worker',
  'graphile-worker, tuned',
  'pg-boss',
  'pg-boss, notify',
  'bullmq on redis',
  'bullmq on postgres',
  'bare, notify',
];

/** From the call that inserts to the first line of the handler. */
export const waits: readonly Scenario[] = [
  {
    name: 'wait: 50/s',
    about:
      'One process inserts 50 tasks a second at an even pace, another works: from the call that inserts to the ' +
      'first line of the handler. The first second is left out.',
    peers,
    columns: ['medianMs', 'p95Ms', 'p99Ms', 'maxMs', 'tasks'],
    lessIsBetter: true,
    quick: [
      'tarefa',
      'graphile-worker',
      'pg-boss, notify',
      'bullmq on redis',
      'bullmq on postgres',
      'bare, notify',
    ],
    run: async (stage, size) => {
      await stage.settle();
      return wait(stage, 50, size);
    },
  },
  {
    name: 'wait: 500/s',
    about: 'The same at 500 tasks a second.',
    peers,
    columns: ['medianMs', 'p95Ms', 'p99Ms', 'maxMs', 'tasks'],
    lessIsBetter: true,
    run: async (stage, size) => {
      await stage.settle();
      return wait(stage, 500, size);
    },
  },
];

/** Inserts at an even pace, and sees how long each task waits. */
export async function wait(crew: Crew, perSecond: number, size: Size): Promise<Outcome> {
  const seconds = size === 'full' ? 12 : 3;
  const worker = await crew.addWorker();
  // One more, with which the producer warms up.
  const sent = perSecond * seconds + 1;
  await worker.work('empty', sent);
  // Workers that look around after their start are done with that.
  await pause(settleMs);
  await crew.desk.call('enqueueEvenly', perSecond, seconds);
  await reach([worker], sent, monotonicMs() + patienceMs);
  const { waitsMs, started } = await worker.process.call('worked');
  const figures = waitFigures(waitsMs.slice(perSecond * warmUpSeconds), started);
  if (started >= sent) return { figures };
  return {
    figures,
    cut: `${started} of ${sent} tasks had started ${patienceMs / 1_000} s after the last insert`,
  };
}

/** How the waits are distributed. */
export function waitFigures(waitsMs: readonly number[], tasks: number): Figures {
  if (waitsMs.length === 0) return { tasks };
  return {
    medianMs: percentile(waitsMs, 0.5),
    p95Ms: percentile(waitsMs, 0.95),
    p99Ms: percentile(waitsMs, 0.99),
    maxMs: Math.max(...waitsMs),
    tasks,
  };
}
