import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool, QueryResultRow } from 'pg';
import { isRunning } from '../../../lib/embedded/process-table.js';
import { startProxy } from '../../support/database-proxy.js';
import { startCluster } from '../kit/cluster.js';
import { WorkerSlot, type FleetParts, type Mishap } from './fleet.js';
import { HistoryWriter } from './history.js';
import type { World } from './nemesis/nemesis.js';
import type { ChaosOptions } from './options.js';
import type { Random } from './prng.js';
import { createJudgesTables } from './schema.js';
import { isToEnd } from './workload/hostile.js';
import { Producer } from './workload/producer.js';

/** Everything that runs in a chaos run. */
export interface Stage extends World {
  readonly mishaps: readonly Mishap[];
  /** What workers are started with. */
  readonly workerParts: FleetParts;
  /** Attempts that are not over, as they were counted last. */
  readonly backlog: number;
  /** Takes everything down; may be called at any time, and again. */
  close(): Promise<void>;
}

/** Purge deletes what is older: young enough that a run of a minute sees some. */
export const purgeMaxAgeDays = 15 / 86_400;
export const pollIntervalMs = 2_000;
export const poolSize = 4;
/** Few, so that a run of two minutes makes and drops some partitions. */
const partitionIds = 3_000;

const serverSettings = {
  max_connections: '200',
  shared_buffers: '128MB',
  // A run writes some hundred MB: old log goes early, and recovery after a crash is short.
  max_wal_size: '256MB',
  checkpoint_timeout: '30s',
};

/**
 * Builds a stage: PostgreSQL, proxies, workers and a producer that does not produce yet.
 *
 * @param program the compiled `test/children/chaos-worker.js`
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
  const cluster = await startCluster({ settings: serverSettings });
  undo.push(() => cluster.stop());
  const { url, pool: admin } = await cluster.createDatabase();
  // Also those that are in use when the server goes.
  admin.on('connect', (client) => client.on('error', () => undefined));
  const history = new HistoryWriter(historyFolder, 'runner');
  const mishaps: Mishap[] = [];
  const ask = asker(admin);
  const parts: FleetParts = {
    databaseUrl: url,
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
    heldBy: async (workerId: string) => {
      const rows = await ask<{ id: string }>(
        `select id::text from tasks where executor = $1 and status = 'processando'`,
        [workerId],
      ).catch(() => []);
      return rows.map(({ id }) => id);
    },
  };

  const slots: WorkerSlot[] = [];
  undo.push(() => Promise.all(slots.map((slot) => slot.end())));
  // The first one makes the tables.
  const first = await WorkerSlot.start(parts, mishaps);
  slots.push(first);
  if (!(await first.ready(60_000))) throw new Error('the first worker did not start');
  await createJudgesTables(admin);
  for (let n = 1; n < options.workers; n += 1) slots.push(await WorkerSlot.start(parts, mishaps));

  let backlog = 0;
  const counting = setInterval(() => {
    const unfinished = `select count(*)::int as n from tasks f where ${isToEnd('f')}`;
    admin.query<{ n: number }>(unfinished).then(
      ({ rows }) => (backlog = rows[0]?.n ?? 0),
      () => undefined,
    );
  }, 500);
  undo.push(async () => clearInterval(counting));
  const producerProxy = await startProxy({ url });
  undo.push(() => producerProxy.close());
  const producer = new Producer({
    url: producerProxy.url,
    history,
    random: random.fork(),
    backlog: () => backlog,
  });
  undo.push(() => producer.stop());
  return {
    cluster,
    slots,
    producer,
    producerProxy,
    history,
    poolSize,
    admin,
    ask,
    historyFolder,
    mishaps,
    workerParts: parts,
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

/** Asks again while the server is down. */
function asker(pool: Pool): World['ask'] {
  return async <Row extends QueryResultRow>(sql: string, values: unknown[] = []) => {
    const deadline = performance.now() + 60_000;
    for (;;) {
      try {
        return (await pool.query<Row>(sql, values)).rows;
      } catch (error) {
        const { code = 'none' } = error as { code?: string };
        const mayPass =
          code === 'none' || code.startsWith('57P') || code.startsWith('E') || code.startsWith('08');
        if (!mayPass || performance.now() > deadline) throw error;
        await pause(100);
      }
    }
  };
}
