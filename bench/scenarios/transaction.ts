import type { Outcome, Scenario, Size } from '../scenario.js';
import type { Stage } from '../stage.js';
import { drain } from './working.js';

const columns = [
  'perSecond',
  'workerCpuPer10k',
  'postgresCpuPer10k',
  'walBytesPerTask',
  'commitsPerTask',
  'peakRssMb',
  'otherCores',
] as const;

const cannot = 'it cannot commit the handler’s writes together with the completion';
const cannots = { 'graphile-worker': cannot, 'bullmq on redis': cannot, 'bullmq on postgres': cannot };

const noFloor = { bare: 'it is the floor of the scenarios above only' };
const apart =
  'The handler inserts one row and commits it by itself; the completion follows in another commit. A crash between the ' +
  'two repeats the row: this is not the promise of the two scenarios above, but all that some queues offer.';

/** The handler inserts one row. Afterwards every task's row must be there once, else the run counts as failed. */
export const transactions: readonly Scenario[] = [
  {
    name: 'transaction: one per task',
    about:
      'The handler inserts one row, which commits together with the completion of its task: one transaction per ' +
      'task. 20,000 tasks; a run is cut after 10 s. The bare loop does it over 16 connections in two round trips.',
    peers: ['tarefa', 'tarefa, one per transaction', 'pg-boss, one per transaction', 'bare'],
    skips: cannots,
    columns,
    quick: true,
    run: (stage, size) =>
      drain(
        stage,
        size === 'full'
          ? { tasks: 20_000, kind: 'write', limitSeconds: 10 }
          : { tasks: 5_000, kind: 'write', limitSeconds: 3 },
      ),
  },
  {
    name: 'transaction: grouped',
    about:
      'The same, but tasks share transactions. tarefa and the bare loop: 50 tasks, a savepoint for each, so that a ' +
      'failing one does not disturb the others. pg-boss: 1,000 tasks, all or nothing. 60,000 tasks.',
    peers: ['tarefa, grouped', 'pg-boss, grouped', 'bare, grouped'],
    skips: cannots,
    columns,
    run: (stage, size) =>
      drain(stage, { tasks: size === 'full' ? 60_000 : 20_000, kind: 'write', limitSeconds: 15 }),
  },
  {
    name: 'transaction: own commit, 24 at once',
    about: `${apart} Every worker runs 24 handlers at once, which have 24 connections. 20,000 tasks; a run is cut after 10 s.`,
    peers: [
      'tarefa, 24 at once',
      'graphile-worker, preset',
      'pg-boss, 24 at once',
      'bullmq on redis, 24 at once',
      'bullmq on postgres, 24 at once',
      // Its best: 2,000 at once, over 10 connections.
      'pg-boss, batches of 1000',
    ],
    skips: noFloor,
    columns,
    run: ownCommit,
  },
  {
    name: 'transaction: own commit, defaults',
    about: `${apart} Every worker at its defaults, with the default pool of 10 connections for its handlers.`,
    peers: ['tarefa', 'graphile-worker', 'pg-boss', 'bullmq on redis', 'bullmq on postgres'],
    skips: noFloor,
    columns,
    run: ownCommit,
  },
];

function ownCommit(stage: Stage, size: Size): Promise<Outcome> {
  return drain(stage, { tasks: size === 'full' ? 20_000 : 8_000, kind: 'write-apart', limitSeconds: 10 });
}
