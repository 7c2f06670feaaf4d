import { setTimeout as pause } from 'node:timers/promises';
import { monotonicMs } from '../protocol.js';
import type { Outcome, Scenario, Size } from '../scenario.js';
import { wait } from '../scenarios/wait.js';
import { total } from '../scenarios/working.js';
import type { MysqlStage } from './mysql-stage.js';

const claimers = 4;

/** What is measured on MariaDB, in the order of the report. */
export const mysqlScenarios: readonly Scenario<MysqlStage>[] = [
  {
    name: 'mariadb: drain',
    about:
      `${claimers} worker processes work off a backlog of 40,000 tasks whose handler does nothing: ours with 100 slots each, the ` +
      'bare statements in batches of 100, the peers at the best settings found. A run is cut after 30 s.',
    peers: [
      'tarefa, concurrency 100',
      'bare on mariadb',
      '@boringnode/queue, tuned',
      'sidequest, tuned',
      'bullmq on redis, tuned',
    ],
    columns: ['perSecond', 'deadlocks', 'tasks', 'seconds'],
    quick: true,
    run: (stage, size) => drain(stage, { tasks: size === 'full' ? 40_000 : 4_000, limitSeconds: 30 }),
  },
  {
    name: 'mariadb: held snapshot',
    about:
      'The same with 50,000 tasks, while another session holds a REPEATABLE READ snapshot open, so that no old version of a row ' +
      'can be removed: tasks per second of the first and of the last fifth.',
    peers: ['tarefa, concurrency 100', 'bare on mariadb'],
    columns: ['ratio', 'firstFifth', 'lastFifth', 'perSecond', 'deadlocks'],
    quick: true,
    run: async (stage, size) => {
      const release = await stage.holdSnapshot();
      try {
        return await drain(stage, { tasks: size === 'full' ? 50_000 : 5_000, limitSeconds: 60 });
      } finally {
        await release();
      }
    },
  },
  {
    name: 'mariadb: producers beside claimers',
    about:
      `16 connections insert one task at a time for 10 s while ${claimers} worker processes work: tasks inserted and worked off ` +
      'per second, and deadlocks of all sessions.',
    peers: ['tarefa, concurrency 100', '@boringnode/queue, tuned', 'sidequest, tuned'],
    columns: ['deadlocks', 'perSecond', 'tasks'],
    lessIsBetter: true,
    quick: true,
    run: produceAndWork,
  },
  {
    name: 'mariadb: wait, 50/s',
    about:
      'One process inserts 50 tasks a second at an even pace, another works, both at their defaults: from the call that inserts ' +
      'to the first line of the handler. The first second is left out. Beside it this library on PostgreSQL, where LISTEN ' +
      'wakes it.',
    peers: ['tarefa', 'tarefa on postgres', '@boringnode/queue', 'sidequest', 'bullmq on redis'],
    columns: ['medianMs', 'p95Ms', 'p99Ms', 'maxMs', 'tasks'],
    lessIsBetter: true,
    quick: true,
    run: (stage, size) => wait(stage, 50, size),
  },
  {
    name: 'mariadb: wait, 50/s, held snapshot',
    about:
      'The same while another session holds a REPEATABLE READ snapshot open, as `mysqldump --single-transaction` does, and after ' +
      'another worker has worked off what 16 connections inserted one at a time within 15 s.',
    peers: ['tarefa'],
    columns: ['medianMs', 'p95Ms', 'p99Ms', 'maxMs', 'tasks'],
    lessIsBetter: true,
    quick: true,
    run: async (stage, size) => {
      const release = await stage.holdSnapshot();
      try {
        const worker = await stage.addWorker();
        await worker.work('empty', 0);
        await stage.desk.call('enqueueSingly', 16, size === 'full' ? 15 : 3, false);
        await stage.desk.call('waitUntilDone', 60_000);
        await worker.process.kill();
        return await wait(stage, 50, size);
      } finally {
        await release();
      }
    },
  },
];

interface Backlog {
  readonly tasks: number;
  readonly limitSeconds: number;
}

/** How many handlers had started at a moment. */
type Mark = readonly [atMs: number, started: number];

async function drain(stage: MysqlStage, { tasks, limitSeconds }: Backlog): Promise<Outcome> {
  const workers = await addWorkers(stage);
  await stage.desk.call('fill', tasks);
  const deadlocks = await stage.deadlocks();
  const marks: Mark[] = [];
  const reached = new Promise<void>((resolve) => {
    for (const { process: child } of workers) {
      child.onStarted(() => {
        marks.push([monotonicMs(), total(workers)]);
        if (total(workers) >= tasks) resolve();
      });
    }
  });
  const begun = monotonicMs();
  await Promise.all(workers.map((worker) => worker.work('empty', 0)));
  const late = new AbortController();
  const limit = pause(limitSeconds * 1_000, undefined, { signal: late.signal }).catch(() => undefined);
  await Promise.race([reached, limit]);
  late.abort();
  const started = total(workers);
  const endedAt = started >= tasks ? await stage.desk.call('waitUntilDone', limitSeconds * 1_000) : undefined;
  const worked = await Promise.all(workers.map(({ process: child }) => child.call('worked')));
  const counted = (await stage.deadlocks()) - deadlocks;
  await stage.endProcesses();
  if (started > tasks) throw new Error(`${tasks} tasks were started ${started} times`);

  const firstAt = Math.min(...worked.map(({ firstAtMs }) => firstAtMs ?? begun));
  const seconds = ((endedAt ?? monotonicMs()) - firstAt) / 1_000;
  const rate = { perSecond: started / seconds, tasks: started, seconds, deadlocks: counted };
  if (endedAt === undefined) return { figures: rate, cut: `not finished after ${limitSeconds} s` };
  const firstFifth = rateBetween(marks, 0, tasks / 5);
  const lastFifth = rateBetween(marks, (tasks * 4) / 5, tasks);
  return { figures: { ...rate, firstFifth, lastFifth, ratio: lastFifth / firstFifth } };
}

/** Tasks per second from the mark at which at least so many had started to the first one with at least so many. */
function rateBetween(marks: readonly Mark[], from: number, to: number): number {
  const [beginMs = 0, begin = 0] = marks.find(([, started]) => started >= from) ?? [];
  const [endMs = 0, end = 0] = marks.find(([, started]) => started >= to) ?? [];
  return ((end - begin) / (endMs - beginMs)) * 1_000;
}

async function produceAndWork(stage: MysqlStage, size: Size): Promise<Outcome> {
  const workers = await addWorkers(stage);
  const deadlocks = await stage.deadlocks();
  await Promise.all(workers.map((worker) => worker.work('empty', 0)));
  const limitMs = size === 'full' ? 10_000 : 2_000;
  const { tasks, begunAtMs } = await stage.desk.call('enqueueSingly', 16, limitMs / 1_000, false);
  const endedAt = await stage.desk.call('waitUntilDone', 3 * limitMs);
  const counted = (await stage.deadlocks()) - deadlocks;
  const started = total(workers);
  await stage.endProcesses();
  const seconds = ((endedAt ?? monotonicMs()) - begunAtMs) / 1_000;
  const figures = { deadlocks: counted, perSecond: started / seconds, tasks };
  return endedAt === undefined
    ? {
        figures,
        cut: `${started} of ${tasks} tasks had started ${(2 * limitMs) / 1_000} s after the last insert`,
      }
    : { figures };
}

function addWorkers(stage: MysqlStage) {
  return Promise.all(Array.from({ length: claimers }, () => stage.addWorker()));
}
