import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRunning } from '../../../lib/embedded/process-table.js';
import { startProxy } from '../../support/database-proxy.js';
import { WorkerSlot, type FleetParts, type Mishap } from './fleet.js';
import { openGround } from './ground/open.js';
import { workOf } from './ground/work.js';
import { HistoryWriter, now } from './history.js';
import type { World } from './nemesis/nemesis.js';
import { isWanted, type ChaosOptions } from './options.js';
import type { Random } from './prng.js';
import { Producer } from './workload/producer.js';
import { recurring } from './workload/recurring.js';

/** Everything that runs in a chaos run. */
export interface Stage extends World {
  readonly mishaps: readonly Mishap[];
  /** What workers are started with. */
  readonly workerParts: FleetParts;
  /** Attempts that are not over, as they were counted last. */
  readonly backlog: number;
  /** When the task of `recurring` recurred first: ms since 1970. */
  readonly recursFrom: number;
  /** Takes everything down; may be called at any time, and again. */
  close(): Promise<void>;
}

/** Purge deletes what is older: young enough that a run of a minute sees some. */
export const purgeMaxAgeDays = 15 / 86_400;
export const pollIntervalMs = 2_000;
export const poolSize = 4;
/** Few, so that a run of two minutes makes and drops some partitions. */
const partitionIds = 3_000;

/**
 * Builds a stage: the database, proxies, workers and a producer that does not produce yet.
 *
 * @param program the compiled `test/support/children/chaos-worker.js`
 * @param opened receives what takes everything down, as soon as there is something
 */
export async function buildStage(
  options: ChaosOptions,
  random: Random,
  program: string,
  opened: (close: () => Promise<void>) => void,
): Promise<Stage> {
  const undo: (() => Promise<unknown>)[] = [];
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= (async () => {
      for (const one of undo.splice(0).reverse()) await one().catch(() => undefined);
    })();
    return closed;
  };
  opened(close);

  await removeOldRuns();
  const historyFolder = await mkdtemp(join(tmpdir(), `tarefa-chaos-${process.pid}-`));
  undo.push(() => rm(historyFolder, { recursive: true, force: true }));
  const ground = await openGround(options.database, (kind) => isWanted(options, kind));
  undo.push(() => ground.stop());
  const history = new HistoryWriter(historyFolder, 'runner');
  const mishaps: Mishap[] = [];
  const parts: FleetParts = {
    database: ground,
    program,
    historyFolder,
    history,
    options: {
      concurrency: 10,
      poolSize,
      pollIntervalMs,
      retryIntervalMinutes: 0.002,
      maxAttempts: 60,
      shutdownTimeoutMs: 5_000,
      purgeMaxAgeDays,
      // A server that is restarted every few seconds must get through one statement.
      purgeLimit: 200,
      purgeRoundLimit: 3,
      ...(options.layout === 'partitioned' && { layout: { partitionIds } }),
      recovery: {
        intervalMs: options.intervalMs,
        confirmMs: options.confirmMs,
        graceMs: options.graceMs,
      },
    },
    heldBy: (workerId) => ground.ask.heldBy(workerId).catch(() => []),
  };

  const slots: WorkerSlot[] = [];
  undo.push(() => Promise.all(slots.map((slot) => slot.end())));
  // The first one makes the tables.
  const first = await WorkerSlot.start(parts, mishaps);
  slots.push(first);
  if (!(await first.ready(60_000))) throw new Error('the first worker did not start');
  await ground.createJudgesTables();
  // The others find it when they start; this one is told of nothing.
  const recursFrom = Math.ceil(now().wall / recurring.everyMs) * recurring.everyMs;
  await ground.ask.recur(recursFrom);
  for (let n = 1; n < options.workers; n += 1) slots.push(await WorkerSlot.start(parts, mishaps));

  let backlog = 0;
  const counting = setInterval(() => {
    ground.ask.countUnfinished().then(
      (unfinished) => (backlog = unfinished),
      () => undefined,
    );
  }, 500);
  undo.push(async () => clearInterval(counting));
  const producerProxy = await startProxy(ground);
  undo.push(() => producerProxy.close());
  const producer = new Producer({
    work: await workOf(ground.url),
    url: producerProxy.url,
    clients: ground.clients,
    history,
    random: random.fork(),
    backlog: () => backlog,
  });
  undo.push(() => producer.stop());
  return {
    ground,
    slots,
    producer,
    producerProxy,
    history,
    poolSize,
    historyFolder,
    mishaps,
    workerParts: parts,
    recursFrom,
    get backlog() {
      return backlog;
    },
    close,
  };
}

/** What runs that were killed have left. */
async function removeOldRuns(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = Number(/^tarefa-chaos-(\d+)-/.exec(name)?.[1]);
    if (!(pid > 0) || isRunning({ pid, started: undefined })) continue;
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined);
  }
}
