import { setTimeout as pause } from 'node:timers/promises';
import { monotonicMs } from '../protocol.js';
import type { Figures, Outcome, Scenario, Size } from '../scenario.js';
import { percentile } from '../statistics.js';
import type { Worker } from '../processes/crew.js';
import type { Stage } from '../stage.js';
import { historyStatements } from '../tarefa/history.js';
import { oursOnly } from './ours-only.js';

/** The producer keeps at most so many tasks waiting. */
const mostWaiting = 1_000;
const partitionIds = 1_000_000;
const timedPerSecond = 50;
const warmUpMs = 2_000;
/** A purge that takes longer is cut. */
const limitMs = 240_000;

/** What deleting old history does to a queue that works. */
export const purge: Scenario = {
  name: 'purge',
  about:
    'A history of 5,000,000 rows that are old enough (of twenty: eleven plain tasks, a publication with three ' +
    'deliveries, a task with a retry, one that died) is purged while one process inserts in batches of 500 (at most ' +
    `${mostWaiting.toLocaleString('en')} tasks wait) and one works as fast as it can. Rows purged per second; the ` +
    `rate of the queue, and how long ${timedPerSecond} tasks a second waited that were inserted one by one, before ` +
    'the purge and during it.',
  peers: ['tarefa, tuned', 'tarefa, partitioned'],
  skips: oursOnly('it deletes a task when it is done, or has no history of attempts'),
  columns: [
    'purgedPerSecond',
    'seconds',
    'perSecondBefore',
    'perSecond',
    'medianMsBefore',
    'medianMs',
    'p99MsBefore',
    'p99Ms',
  ],
  run: purgeAndWork,
};

async function purgeAndWork(stage: Stage, size: Size): Promise<Outcome> {
  const rows = size === 'full' ? 5_000_000 : 200_000;
  if (stage.peer.setting === 'partitioned') await addPartitions(stage, rows);
  for (const statement of historyStatements(rows)) await stage.sql(statement);
  if (stage.peer.setting === 'partitioned') await endPartition(stage, rows);
  await stage.settle();
  const worker = await stage.addWorker();
  const purger = await stage.addWorker();
  await worker.work('empty', 0);
  const begunMs = monotonicMs();
  worker.process.onStarted(() => {
    // Those that are timed are extra: counted in, they would let the backlog grow.
    const timed = Math.floor(((monotonicMs() - begunMs) / 1_000) * timedPerSecond);
    stage.desk.call('consumed', Math.max(0, worker.process.started - timed)).catch(() => undefined);
  });
  await stage.desk.call('sustain', mostWaiting);
  // More seconds than it can take; ends with the desk.
  const timed = stage.desk.call('enqueueEvenly', timedPerSecond, (limitMs + 60_000) / 1_000);
  timed.catch(() => undefined);
  await pause(warmUpMs);

  const before = await during(worker, () => pause(size === 'full' ? 20_000 : 3_000));
  let purged: number | undefined;
  const purging = await during(worker, async () => {
    purged = await Promise.race([purger.process.call('purge'), pause(limitMs, undefined)]);
  });
  await stage.endProcesses();
  const gone = purged ?? rows - (await left(stage, rows));
  const figures: Figures = {
    purgedPerSecond: gone / purging.seconds,
    tasks: gone,
    seconds: purging.seconds,
    perSecondBefore: before.perSecond,
    perSecond: purging.perSecond,
    medianMsBefore: percentile(before.waitsMs, 0.5),
    medianMs: percentile(purging.waitsMs, 0.5),
    p99MsBefore: percentile(before.waitsMs, 0.99),
    p99Ms: percentile(purging.waitsMs, 0.99),
  };
  return purged === undefined ? { figures, cut: `not finished after ${limitMs / 1_000} s` } : { figures };
}

/** There are two to begin with. */
async function addPartitions(stage: Stage, rows: number): Promise<void> {
  for (let from = 2 * partitionIds; from < rows + 2 * partitionIds; from += partitionIds) {
    await stage.sql(
      `create table bench.task_p${from / partitionIds + 1} partition of bench.task
       for values from (${from}) to (${from + partitionIds}) with (fillfactor = 85)`,
    );
  }
}

/** Lets the ids go on in the next one, so that the history's last one is full. */
async function endPartition(stage: Stage, rows: number): Promise<void> {
  const next = Math.ceil(rows / partitionIds) * partitionIds;
  await stage.sql(`select setval(pg_get_serial_sequence('bench.task', 'id'), ${next})`);
}

interface Course {
  readonly seconds: number;
  readonly perSecond: number;
  readonly waitsMs: readonly number[];
}

/** What the worker did meanwhile. */
async function during({ process: child }: Worker, something: () => Promise<unknown>): Promise<Course> {
  const before = await child.call('worked');
  const begunMs = monotonicMs();
  await something();
  const after = await child.call('worked');
  const seconds = (monotonicMs() - begunMs) / 1_000;
  return {
    seconds,
    perSecond: (after.started - before.started) / seconds,
    waitsMs: after.waitsMs.slice(before.waitsMs.length),
  };
}

async function left(stage: Stage, rows: number): Promise<number> {
  const [row] = await stage.sql<{ n: number }>(
    `select count(*)::int as n from bench.task where id <= ${rows}`,
  );
  return row?.n ?? 0;
}
