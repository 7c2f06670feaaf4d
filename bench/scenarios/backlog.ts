import type { Scenario } from '../scenario.js';
import { drain, drainColumns, tunedPeers } from './working.js';

const onlyOurs = 'only measured for this library, for the time it takes to fill the queue';

/** Whether the length of the backlog matters. */
export const backlogs: readonly Scenario[] = [
  backlog(10_000, 10_000, tunedPeers),
  backlog(100_000, 20_000, tunedPeers),
  backlog(1_000_000, 20_000, tunedPeers),
  {
    ...backlog(5_000_000, 20_000, ['tarefa, tuned']),
    skips: {
      'graphile-worker': onlyOurs,
      'pg-boss': onlyOurs,
      'bullmq on redis': onlyOurs,
      'bullmq on postgres': onlyOurs,
      bare: onlyOurs,
    },
  },
];

function backlog(tasks: number, upTo: number, peers: readonly string[]): Scenario {
  return {
    name: `backlog: ${tasks.toLocaleString('en')}`,
    about: `The rate of the first ${upTo.toLocaleString('en')} tasks with ${tasks.toLocaleString('en')} pending.`,
    peers,
    columns: drainColumns,
    run: (stage, size) =>
      drain(stage, { tasks: size === 'full' ? tasks : Math.min(tasks, 100_000), upTo, limitSeconds: 15 }),
  };
}
