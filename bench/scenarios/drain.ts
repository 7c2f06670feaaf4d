import type { Scenario } from '../scenario.js';
import { drain, drainColumns, tunedPeers } from './working.js';

const columns = [...drainColumns, 'walBytesPerTask', 'commitsPerTask'] as const;

/** A backlog of tasks whose handlers do nothing. */
export const drains: readonly Scenario[] = [
  {
    name: 'drain: defaults',
    about:
      'One worker process at its default settings works off a backlog of 50,000 tasks whose handler does nothing. ' +
      'A run is cut after 10 s (pg-boss polls one job every 2 s by default).',
    peers: [
      'tarefa',
      'tarefa, concurrency 100',
      'graphile-worker',
      'pg-boss',
      'bullmq on redis',
      'bullmq on postgres',
    ],
    skips: { bare: 'it has no defaults; see drain: tuned' },
    columns,
    quick: true,
    run: (stage, size) =>
      drain(
        stage,
        size === 'full' ? { tasks: 50_000, limitSeconds: 10 } : { tasks: 20_000, limitSeconds: 3 },
      ),
  },
  {
    name: 'drain: tuned',
    about:
      'One worker process at the best settings found works off a backlog of 200,000 tasks whose handler does ' +
      'nothing. A run is cut after 15 s.',
    peers: tunedPeers,
    columns,
    quick: true,
    run: (stage, size) =>
      drain(
        stage,
        size === 'full' ? { tasks: 200_000, limitSeconds: 15 } : { tasks: 60_000, limitSeconds: 3 },
      ),
  },
  {
    name: 'drain: two processes',
    about: 'The same with two worker processes.',
    peers: tunedPeers,
    columns,
    run: (stage, size) =>
      drain(stage, { tasks: size === 'full' ? 200_000 : 60_000, processes: 2, limitSeconds: 15 }),
  },
];
