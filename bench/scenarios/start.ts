import { setTimeout as pause } from 'node:timers/promises';
import { monotonicMs } from '../protocol.js';
import type { Outcome, Scenario, Size } from '../scenario.js';
import { median } from '../statistics.js';
import type { Stage } from '../stage.js';
import { reach } from './working.js';

const starts = 5;
const quickStarts = 2;
const limitMs = 20_000;
/** How long each process works before its memory is read. */
const workMs = 1_000;

/** How soon a worker that has just started is of use. */
export const start: Scenario = {
  name: 'start with 1,000,000 pending',
  about:
    'A new worker process while 1,000,000 tasks wait: ms from the moment when the process is started, and from the ' +
    'moment when its modules are loaded and it begins to open the queue, to the first line of the first handler; and ' +
    `its peak memory after a second of work. tarefa starts in a Nest application, the others without one. Medians of ` +
    `${starts} processes, each killed before the next starts.`,
  peers: [
    'tarefa',
    'tarefa, tuned',
    'graphile-worker',
    'graphile-worker, tuned',
    'pg-boss',
    'pg-boss, tuned',
    'bullmq on redis',
    'bullmq on postgres',
    'bare',
  ],
  columns: ['startMs', 'initMs', 'peakRssMb'],
  lessIsBetter: true,
  run: startOften,
};

async function startOften(stage: Stage, size: Size): Promise<Outcome> {
  const isFull = size === 'full';
  await stage.desk.call('fill', isFull ? 1_000_000 : 150_000);
  await stage.settle();
  const all: Start[] = [];
  for (let index = 0; index < (isFull ? starts : quickStarts); index += 1) all.push(await startOnce(stage));
  const figure = (name: keyof Start): number => median(all.map((one) => one[name]));
  return {
    figures: { startMs: figure('startMs'), initMs: figure('initMs'), peakRssMb: figure('peakRssMb') },
  };
}

interface Start {
  readonly startMs: number;
  readonly initMs: number;
  readonly peakRssMb: number;
}

async function startOnce(stage: Stage): Promise<Start> {
  const begunMs = monotonicMs();
  const worker = await stage.addWorker();
  const loadedMs = monotonicMs();
  await worker.work('empty', 1);
  await reach([worker], 1, begunMs + limitMs);
  await pause(workMs);
  const { firstAtMs, peakRssBytes } = await worker.process.call('worked');
  await worker.process.kill();
  if (firstAtMs === undefined) throw new Error(`no handler had started after ${limitMs / 1_000} s`);
  return { startMs: firstAtMs - begunMs, initMs: firstAtMs - loadedMs, peakRssMb: peakRssBytes / 2 ** 20 };
}
