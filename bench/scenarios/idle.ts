import { setTimeout as pause } from 'node:timers/promises';
import type { NestProcess } from '../processes/nest-process.js';
import type { Outcome, Scenario, Size } from '../scenario.js';
import { median } from '../statistics.js';
import type { Stage } from '../stage.js';
import { oursOnly } from './ours-only.js';
import { defined } from './working.js';

/** What happens once after a start is over by then. */
const settleSeconds = 12;

const measured = {
  skips: { bare: 'it is a loop that polls every 5 ms' },
  columns: ['statementsPerMinute', 'workerCpuMsPerMinute', 'rssMb'],
  lessIsBetter: true,
} as const;

/** What a worker costs that has nothing to do. */
export const idles: readonly Scenario[] = [
  {
    ...measured,
    name: 'idle',
    about:
      'One worker at its defaults in a small Nest application, nothing else in its process, and an empty queue, for a ' +
      'minute: statements as the server counts them (BEGIN and COMMIT too), CPU time and memory. Of BullMQ on Redis ' +
      'the commands are not counted.',
    peers: [
      'tarefa',
      'graphile-worker',
      'pg-boss',
      'pg-boss, notify',
      'bullmq on redis',
      'bullmq on postgres',
    ],
    run: (stage, size) => watchIdle(stage, 1, size),
  },
  {
    ...measured,
    name: 'idle: two workers',
    about:
      'The same with two such applications: the statements of both together, and CPU time and memory of one. What only ' +
      'one of them does for all (tarefa: recovering and purging) is in there once.',
    peers: ['tarefa', 'graphile-worker', 'pg-boss'],
    skips: {
      ...measured.skips,
      'bullmq on redis': 'its commands are not counted',
      'bullmq on postgres': 'its workers know nothing of each other',
    },
    run: (stage, size) => watchIdle(stage, 2, size),
  },
  {
    ...measured,
    name: 'idle: 10,000 schedules',
    about:
      'The same with one such application and 10,000 schedules, of which none is due within a day: what they cost between ' +
      'their times.',
    peers: ['tarefa'],
    skips: { ...oursOnly('what schedules cost is compared within this library'), ...measured.skips },
    run: async (stage, size) => {
      await addSchedules(stage, 10_000);
      return watchIdle(stage, 1, size);
    },
  },
];

/** All due tomorrow; nobody looks at what they are before. */
async function addSchedules(stage: Stage, count: number): Promise<void> {
  await stage.sql(
    `insert into bench.task_schedule (id, declared, rule, task, next_at)
     select 'nightly ' || n, false, '{}', '{}', now() + interval '1 day' from generate_series(1, ${count}) n`,
  );
  await stage.settle();
}

async function watchIdle(stage: Stage, workers: number, size: Size): Promise<Outcome> {
  const seconds = size === 'full' ? 60 : 15;
  await stage.countStatements();
  const applications: NestProcess[] = [];
  for (let index = 0; index < workers; index += 1) applications.push(await stage.startApplication('worker'));
  await pause(settleSeconds * 1_000);
  const weigh = () => Promise.all(applications.map((application) => application.weigh({ collect: false })));
  const before = await weigh();
  const statements = await stage.meter.statements();
  await pause(seconds * 1_000);
  const after = await weigh();
  const sent = (await stage.meter.statements()) - statements;
  const perMinute = (value: number): number => (value / seconds) * 60;
  const cpuMs = after.map((weight, index) => weight.cpuMs - (before[index]?.cpuMs ?? 0));
  return {
    figures: defined({
      statementsPerMinute: stage.peer.product === 'bullmq on redis' ? undefined : perMinute(sent),
      workerCpuMsPerMinute: perMinute(median(cpuMs)),
      rssMb: median(after.map(({ rssMb }) => rssMb)),
    }),
  };
}
