import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { QueueAdmin } from '../../lib/index.js';
import { addTickers, ticksOf } from '../maintenance/recurring-bench.js';
import type { Child } from '../support/processes.js';
import { startApp, type QueueApp } from '../support/queue-app.js';
import { until } from '../support/waiting.js';
import { createEffectTable } from '../support/worker-process.js';
import { startCluster, type Cluster, type ClusterDatabase } from './kit/cluster.js';
import { startFaultWorker } from './kit/fault-worker.js';

let cluster: Cluster;
let database: ClusterDatabase;
let operator: QueueApp;
let admin: QueueAdmin;
let workers: Child[];

beforeAll(async () => {
  cluster = await startCluster();
});

beforeEach(async () => {
  database = await cluster.createDatabase();
  await createEffectTable(database);
  operator = await startApp(database, { worker: false });
  admin = operator.app.get(QueueAdmin);
  workers = [];
});

afterEach(async () => {
  await operator.close();
  await Promise.all(workers.map((worker) => worker.kill('SIGKILL')));
  await database.drop();
});

afterAll(() => cluster.stop());

async function startWorkers(): Promise<void> {
  workers = await Promise.all(['a', 'b'].map(() => startFaultWorker(database, {})));
}

async function stopWorkers(): Promise<void> {
  for (const worker of workers) worker.send('close');
  for (const worker of workers.splice(0)) expect(await worker.exit).toMatchObject({ code: 0 });
}

/** Waits until all times up to that one were looked at; returns that time. */
async function decided(untilMs: number): Promise<number> {
  await until(async () => {
    const all = await admin.schedules.list();
    return all.every(({ nextAt }) => (nextAt?.getTime() ?? 0) > untilMs);
  }, 'all times have been looked at');
  return untilMs;
}

/** Lets so many times of every second go by. */
async function pass(times: number): Promise<number> {
  const end = Date.now() + times * 1_000;
  await until(async () => Date.now() > end, 'these times are over');
  return end;
}

test('the database is down over some times: each makes its task or is counted once it is back', async () => {
  const from = await addTickers(admin, 'batch');
  await startWorkers();
  await decided(from + 2_000);
  await cluster.crash();
  const end = await pass(4);
  await cluster.start();
  await decided(end);
  await stopWorkers();
  const { skip, once, all } = await ticksOf(admin, from);
  expect(all.missed).toBe(0);
  expect(once.missed).toBeGreaterThanOrEqual(2);
  expect(skip.missed).toBeGreaterThanOrEqual(3);
});

test('a backup is restored: what had run by then does not run again, what came after was missed', async () => {
  const tables = ['tasks', 'tasks_schedule'];
  const from = await addTickers(admin, 'batch');
  await startWorkers();
  const saved = await decided(from + 3_000);
  await stopWorkers();
  for (const table of tables) await database.pool.query(`create table backup_of_${table} as table ${table}`);
  await startWorkers();
  await decided(saved + 3_000);
  await stopWorkers();
  for (const table of tables) {
    await database.pool.query(
      `truncate ${table}; insert into ${table} overriding system value table backup_of_${table}`,
    );
  }
  const end = await pass(1);
  await startWorkers();
  await decided(end);
  await stopWorkers();
  const { skip, once, all } = await ticksOf(admin, from);
  expect(all.missed).toBe(0);
  expect(once.missed).toBeGreaterThanOrEqual(2);
  expect(skip.missed).toBeGreaterThanOrEqual(3);
});
