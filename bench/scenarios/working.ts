import { setTimeout as pause } from 'node:timers/promises';
import type { Worked } from '../processes/child-calls.js';
import { monotonicMs, type HandlerKind } from '../protocol.js';
import type { Figures, Outcome } from '../scenario.js';
import { usageBetween, type Usage } from '../servers/meter.js';
import type { Worker } from '../processes/crew.js';
import type { Stage } from '../stage.js';

/** What a drain's table shows. */
export const drainColumns = [
  'perSecond',
  'workerCpuPer10k',
  'postgresCpuPer10k',
  'redisCpuPer10k',
  'peakRssMb',
  'loopP99Ms',
  'loopMaxMs',
  'otherCores',
] as const;

/** Who drains, at the best settings found. */
export const tunedPeers: readonly string[] = [
  'tarefa, tuned',
  'graphile-worker, tuned',
  'pg-boss, tuned',
  'bullmq on redis, tuned',
  'bullmq on postgres, tuned',
  'bare',
];

/** A backlog that is worked off. */
export interface DrainSetting {
  readonly tasks: number;
  readonly kind?: HandlerKind;
  /** Processes that work. Default 1. */
  readonly processes?: number;
  /** Only the first so many are measured. Default: all. */
  readonly upTo?: number;
  /** A run that has not finished after so long is cut. */
  readonly limitSeconds: number;
}

/**
 * Fills the queue, then starts the workers. The rate counts from the first handler's start to the moment when the
 * database shows the last completion; starting and connecting are not part of it.
 */
export async function drain(stage: Stage, setting: DrainSetting): Promise<Outcome> {
  const { tasks, kind = 'empty', processes = 1, upTo, limitSeconds } = setting;
  const startsPerTask = kind === 'fail-once' ? 2 : 1;
  const target = (upTo ?? tasks) * startsPerTask;
  const [workers] = await Promise.all([
    Promise.all(Array.from({ length: processes }, () => stage.addWorker())),
    stage.desk.call('fill', tasks),
  ]);
  await stage.settle();
  const commits = await stage.meter.commits();
  const before = await stage.meter.read();
  const own = process.cpuUsage();
  const begun = monotonicMs();

  await Promise.all(workers.map((worker) => worker.work(kind, processes === 1 ? target : 0)));
  const until = monotonicMs() + limitSeconds * 1_000;
  await reach(workers, target, until);
  let endedAt = total(workers) >= target && upTo !== undefined ? monotonicMs() : undefined;
  if (total(workers) >= target) {
    endedAt ??= await stage.desk.call('waitUntilDone', Math.max(0, until - monotonicMs()));
  }
  const worked = await Promise.all(workers.map(({ process: child }) => child.call('worked')));
  const after = await stage.meter.read();
  const seconds = (monotonicMs() - begun) / 1_000;
  const { user, system } = process.cpuUsage(own);
  await stage.endProcesses();
  const allCommits = (await stage.meter.commits()) - commits;

  const started = worked.reduce((sum, child) => sum + child.started, 0) / startsPerTask;
  const counted = endedAt === undefined || upTo !== undefined ? started : tasks;
  const figures = {
    ...rate(worked, counted, endedAt ?? monotonicMs()),
    ...shares(usageBetween(before, after), worked, { tasks: counted, seconds, own: (user + system) / 1e6 }),
    commitsPerTask: allCommits / counted,
  };
  if (endedAt === undefined) return { figures, cut: `not finished after ${limitSeconds} s` };
  if (kind === 'write' || kind === 'write-apart') await checkEffects(stage, tasks);
  return { figures };
}

/** Waits until so many handlers have started, or the time is over. */
export async function reach(workers: readonly Worker[], target: number, untilMs: number): Promise<void> {
  if (total(workers) >= target) return;
  const aborter = new AbortController();
  const reached = new Promise<void>((resolve) => {
    for (const { process: child } of workers) child.onStarted(() => total(workers) >= target && resolve());
  });
  const late = pause(Math.max(0, untilMs - monotonicMs()), undefined, { signal: aborter.signal });
  await Promise.race([reached, late]);
  aborter.abort();
  late.catch(() => undefined);
}

/** Handlers that have started, as the processes told last. */
export function total(workers: readonly Worker[]): number {
  return workers.reduce((sum, { process: child }) => sum + child.started, 0);
}

interface Spent {
  readonly tasks: number;
  readonly seconds: number;
  /** CPU seconds of the benchmark itself. */
  readonly own: number;
}

/** Servers' and workers' use of the machine, per task. */
export function shares(usage: Usage, worked: readonly Worked[], { tasks, seconds, own }: Spent): Figures {
  const { postgresCpuSeconds, redisCpuSeconds, machineCpuSeconds, walBytes } = usage;
  const workers = worked.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
  const per10k = (value: number | undefined): number | undefined => value && (value / tasks) * 10_000;
  const others =
    machineCpuSeconds === undefined
      ? undefined
      : machineCpuSeconds - (postgresCpuSeconds ?? 0) - (redisCpuSeconds ?? 0) - workers - own;
  return defined({
    workerCpuPer10k: per10k(workers),
    postgresCpuPer10k: per10k(postgresCpuSeconds),
    redisCpuPer10k: per10k(redisCpuSeconds),
    walBytesPerTask: walBytes / tasks,
    peakRssMb: Math.max(0, ...worked.map(({ peakRssBytes }) => peakRssBytes)) / 2 ** 20,
    ...loopFigures(worked),
    otherCores: others && Math.max(0, others) / seconds,
  });
}

/** How late the event loop was in the process where it was latest. */
export function loopFigures(worked: readonly Worked[]): Figures {
  return {
    loopP99Ms: Math.max(...worked.map(({ loopP99Ms }) => loopP99Ms)),
    loopMaxMs: Math.max(...worked.map(({ loopMaxMs }) => loopMaxMs)),
  };
}

/** Leaves out what is unknown. */
export function defined(figures: { [Name in keyof Figures]: Figures[Name] | undefined }): Figures {
  return Object.fromEntries(Object.entries(figures).filter(([, value]) => value !== undefined)) as Figures;
}

function rate(worked: readonly Worked[], tasks: number, endedAtMs: number): Figures {
  const first = Math.min(...worked.map(({ firstAtMs }) => firstAtMs ?? endedAtMs));
  const seconds = (endedAtMs - first) / 1_000;
  return { perSecond: tasks === 0 ? 0 : tasks / seconds, tasks, seconds };
}

/** Every handler's row must be there exactly once, else the rate is of something else. */
async function checkEffects(stage: Stage, tasks: number): Promise<void> {
  const [row] = await stage.sql<{ rows: string; distinct: string }>(
    'select count(*) as rows, count(distinct task) as distinct from effect',
  );
  if (Number(row?.rows) === tasks && Number(row?.distinct) === tasks) return;
  throw new Error(`${tasks} tasks left ${row?.rows} rows, ${row?.distinct} of them different`);
}
