import { setTimeout as pause } from 'node:timers/promises';
import { monotonicMs } from '../protocol.js';
import type { Outcome, Scenario, Size } from '../scenario.js';
import type { Worker } from '../processes/crew.js';
import type { Stage } from '../stage.js';

const windowSeconds = 10;
/** The producer keeps at most so many tasks waiting. */
const mostWaiting = 4_000;
const startLimitMs = 15_000;

/** What a forgotten transaction elsewhere in the database does to a queue. */
export const heldSnapshot: Scenario = {
  name: 'held snapshot',
  about:
    'Another session holds a REPEATABLE READ snapshot open for 60 s, so that vacuum can remove nothing, while one ' +
    `process inserts in batches of 500 (at most ${mostWaiting} tasks wait) and one works. Tasks per second in ` +
    'windows of 10 s.',
  peers: [
    'tarefa',
    'tarefa, tuned',
    'graphile-worker, tuned',
    'pg-boss, tuned',
    'bullmq on postgres, tuned',
    'bare',
  ],
  skips: { 'bullmq on redis': 'Redis has no snapshots' },
  columns: ['ratio', 'firstWindow', 'lastWindow', 'peakRssMb'],
  run: holdAndWork,
};

async function holdAndWork(stage: Stage, size: Size): Promise<Outcome> {
  const windows = size === 'full' ? 6 : 2;
  const release = await stage.holdSnapshot();
  try {
    const worker = await stage.addWorker();
    await worker.work('empty', 0);
    worker.process.onStarted(() => {
      // The desk may have ended before the worker's last word.
      stage.desk.call('consumed', worker.process.started).catch(() => undefined);
    });
    await stage.desk.call('sustain', mostWaiting);
    await begin(worker);
    const series = await watch(worker, windows);
    const { peakRssBytes } = await worker.process.call('worked');
    await stage.desk.call('stopSustaining');
    await stage.endProcesses();
    const firstWindow = series[0] ?? 0;
    const lastWindow = series.at(-1) ?? 0;
    const peakRssMb = peakRssBytes / 2 ** 20;
    return { figures: { ratio: lastWindow / firstWindow, firstWindow, lastWindow, peakRssMb }, series };
  } finally {
    await release();
  }
}

async function begin(worker: Worker): Promise<void> {
  const until = monotonicMs() + startLimitMs;
  while (worker.process.started < 100 && monotonicMs() < until) await pause(5);
}

async function watch({ process: child }: Worker, windows: number): Promise<number[]> {
  const series: number[] = [];
  let last = child.started;
  let lastAtMs = monotonicMs();
  for (let index = 0; index < windows; index += 1) {
    await pause(windowSeconds * 1_000);
    const { started } = child;
    const atMs = monotonicMs();
    series.push(((started - last) / (atMs - lastAtMs)) * 1_000);
    last = started;
    lastAtMs = atMs;
  }
  return series;
}
