import { setTimeout as pause } from 'node:timers/promises';
import type { Outcome, Scenario, Size } from '../scenario.js';
import type { Stage } from '../stage.js';
import { defined } from './working.js';

/** What happens once after a start is over by then. */
const settleSeconds = 12;

/** What a worker costs that has nothing to do. */
export const idle: Scenario = {
  name: 'idle',
  about:
    'One worker at its defaults, an empty queue, one minute: statements that it sends (BEGIN and COMMIT count), its ' +
    'CPU time and memory. Of BullMQ on Redis the commands are not counted.',
  peers: ['tarefa', 'graphile-worker', 'pg-boss', 'pg-boss, notify', 'bullmq on redis', 'bullmq on postgres'],
  skips: { bare: 'it is a loop that polls every 5 ms' },
  columns: ['statementsPerMinute', 'workerCpuMsPerMinute', 'rssMb'],
  lessIsBetter: true,
  run: watchIdle,
};

async function watchIdle(stage: Stage, size: Size): Promise<Outcome> {
  const seconds = size === 'full' ? 60 : 15;
  await stage.countStatements();
  const worker = await stage.addWorker();
  await worker.work('empty', 0);
  await pause(settleSeconds * 1_000);
  const before = await worker.process.call('worked');
  const statements = await stage.meter.statements();
  await pause(seconds * 1_000);
  const after = await worker.process.call('worked');
  const perMinute = (value: number): number => (value / seconds) * 60;
  const sent = (await stage.meter.statements()) - statements;
  return {
    figures: defined({
      statementsPerMinute: stage.peer.product === 'bullmq on redis' ? undefined : perMinute(sent),
      workerCpuMsPerMinute: perMinute((after.cpuSeconds - before.cpuSeconds) * 1_000),
      rssMb: after.rssBytes / 2 ** 20,
    }),
  };
}
