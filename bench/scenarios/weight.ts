import { setTimeout as pause } from 'node:timers/promises';
import type { Imports, Weight } from '../processes/nest-process.js';
import type { Outcome, Scenario } from '../scenario.js';
import { median } from '../statistics.js';
import type { Stage } from '../stage.js';

/** Processes of each kind; the median counts. */
const processes = 5;
/** What happens once after a start is over by then. */
const settleMs = 5_000;

/** What a queue adds to a small Nest application that has nothing to do. */
export const weight: Scenario = {
  name: 'weight',
  about:
    'A small Nest application with the queue in it and nothing to do: how long it takes to import the product after ' +
    `Nest (wall and CPU time), and its memory 5 s after the start, for one that only inserts and for one that works. ` +
    `Medians of ${processes} processes.`,
  peers: ['tarefa', 'graphile-worker', 'pg-boss'],
  skips: {
    bare: 'it is no product',
    'bullmq on redis': 'not in a database',
    'bullmq on postgres': 'not measured',
  },
  columns: ['rssMb', 'producerRssMb', 'importMs', 'importCpuMs'],
  lessIsBetter: true,
  run: weigh,
};

async function weigh(stage: Stage): Promise<Outcome> {
  const producers = [];
  const workers = [];
  for (let count = 0; count < processes; count += 1) {
    producers.push(await weighOne(stage, 'producer'));
    workers.push(await weighOne(stage, 'worker'));
  }
  const both = [...producers, ...workers];
  return {
    figures: {
      rssMb: median(workers.map(({ rssMb }) => rssMb)),
      producerRssMb: median(producers.map(({ rssMb }) => rssMb)),
      importMs: median(both.map(({ importMs }) => importMs)),
      importCpuMs: median(both.map(({ importCpuMs }) => importCpuMs)),
    },
  };
}

async function weighOne(stage: Stage, role: 'producer' | 'worker'): Promise<Imports & Weight> {
  const application = await stage.startApplication(role);
  await pause(settleMs);
  const used = await application.weigh({ collect: true });
  await application.kill();
  return { ...application.imports, ...used };
}
