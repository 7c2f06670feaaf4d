import { setTimeout as pause } from 'node:timers/promises';
import { answersMsWhile } from '../processes/endpoint-watch.js';
import { monotonicMs, type HandlerKind } from '../protocol.js';
import type { Outcome, Scenario } from '../scenario.js';
import { familyMemoryMb } from '../servers/proc.js';
import type { Stage } from '../stage.js';
import { median, percentile } from '../statistics.js';
import { defined, drain, loopFigures, reach } from './working.js';

const peers = [
  'tarefa',
  'tarefa, threads',
  'tarefa, processes',
  'bullmq on redis',
  'bullmq on redis, threads',
  'bullmq on redis, processes',
];
const noThreads = 'it runs handlers on its event loop only';
const skips = {
  'graphile-worker': noThreads,
  'pg-boss': noThreads,
  'bullmq on postgres': 'its threads and processes are those of BullMQ on Redis',
  bare: noThreads,
};

/** Threads or processes of a worker whose memory is compared with that of a worker with one. */
const several = 4;
/** All of them have started by then. */
const settleMs = 8_000;
const limitSeconds = 90;

/** Handlers on the event loop, in threads and in processes. */
export const isolated: readonly Scenario[] = [
  {
    name: 'isolated: 20 ms of CPU',
    about:
      '1,000 tasks whose handler computes for some 20 ms: on the event loop, and in as many threads or processes as leave it ' +
      'one processor (from 1 to 5, both sides). Beside them an HTTP endpoint of the same process is asked every 20 ms, from ' +
      'before the first insert to the last completion.',
    peers,
    skips,
    columns: ['perSecond', 'httpMedianMs', 'httpP99Ms', 'httpMaxMs', 'loopP99Ms', 'loopMaxMs'],
    run: (stage, size) => compute(stage, 'compute', size === 'full' ? 1_000 : 150),
  },
  {
    name: 'isolated: 5 s of CPU',
    about: 'The same with one task that computes for some 5 s.',
    peers,
    skips,
    columns: ['httpMaxMs', 'httpP99Ms', 'httpMedianMs'],
    lessIsBetter: true,
    run: (stage) => compute(stage, 'compute-long', 1),
  },
  {
    name: 'isolated: 1 MB payloads',
    about:
      'A backlog of 60 payloads of 1,000,000 bytes for a handler that does nothing: who reads and parses them.',
    peers,
    skips,
    columns: ['loopP99Ms', 'loopMaxMs', 'perSecond', 'peakRssMb'],
    lessIsBetter: true,
    payloadBytes: 1_000_000,
    run: (stage, size) => drain(stage, { tasks: size === 'full' ? 60 : 20, limitSeconds: 30 }),
  },
  {
    name: 'isolated: no-ops',
    about:
      'A backlog of tasks whose handler does nothing, at defaults: what a way to a thread or process and back costs.',
    peers,
    skips,
    columns: ['perSecond', 'postgresCpuPer10k', 'redisCpuPer10k', 'loopP99Ms', 'loopMaxMs'],
    run: (stage, size) => drain(stage, { tasks: size === 'full' ? 20_000 : 2_000, limitSeconds: 30 }),
  },
  {
    name: 'isolated: start and memory',
    about:
      'A worker with one thread or process starts beside a backlog of no-ops: ms from the moment when it begins to open the ' +
      `queue to its first completion (on the event loop: to the first handler). Then another with ${several}: by how much ` +
      'the memory of the worker and its processes is more, divided by those that it has more; what processes share counts ' +
      'once.',
    peers,
    skips,
    columns: ['initMs', 'childMb'],
    lessIsBetter: true,
    run: startAndWeigh,
  },
];

async function compute(stage: Stage, kind: HandlerKind, tasks: number): Promise<Outcome> {
  const worker = await stage.addWorker();
  const { process: child } = worker;
  await worker.work(kind, tasks);
  const port = await child.call('serve');
  await child.call('watchLoop');
  const until = monotonicMs() + limitSeconds * 1_000;
  let endedAt: number | undefined;
  const answersMs = await answersMsWhile(port, async () => {
    await stage.desk.call('fill', tasks);
    await reach([worker], tasks, until);
    endedAt = await stage.desk.call('waitUntilDone', Math.max(0, until - monotonicMs()));
  });
  const worked = await child.call('worked');
  const { started, firstAtMs = until } = worked;
  const perSecond = (started / ((endedAt ?? until) - firstAtMs)) * 1_000;
  const figures = {
    // Both count from the first one on.
    ...(tasks > 1 && { perSecond, ...loopFigures([worked]) }),
    tasks: started,
    httpMedianMs: median(answersMs),
    httpP99Ms: percentile(answersMs, 0.99),
    httpMaxMs: Math.max(...answersMs),
  };
  return endedAt === undefined ? { figures, cut: `not finished after ${limitSeconds} s` } : { figures };
}

async function startAndWeigh(stage: Stage): Promise<Outcome> {
  const { initMs, memoryMb: withOne } = await startWith(stage, 1);
  if (stage.peer.setting === 'default') return { figures: { initMs } };
  const { memoryMb: withSeveral } = await startWith(stage, several);
  const childMb = withOne && withSeveral && (withSeveral - withOne) / (several - 1);
  return { figures: defined({ initMs, childMb }) };
}

async function startWith(
  stage: Stage,
  children: number,
): Promise<{ readonly initMs: number; readonly memoryMb: number | undefined }> {
  const worker = await stage.addWorker();
  const { process: child } = worker;
  const tasks = 200;
  await stage.desk.call('fill', tasks);
  const begunMs = monotonicMs();
  await worker.work('empty', tasks, children);
  await reach([worker], tasks, begunMs + limitSeconds * 1_000);
  await pause(settleMs);
  // So that each has run some.
  await stage.desk.call('fill', tasks);
  await reach([worker], 2 * tasks, begunMs + limitSeconds * 1_000);
  const { firstAtMs } = await child.call('worked');
  const memoryMb = child.pid && familyMemoryMb(child.pid);
  await child.kill();
  if (firstAtMs === undefined) throw new Error(`no task had ended after ${limitSeconds} s`);
  return { initMs: firstAtMs - begunMs, memoryMb: memoryMb || undefined };
}
