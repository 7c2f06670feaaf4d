import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { looksChannel } from '../../lib/coordination/lost-workers.js';
import { PostgresCoordinator } from '../../lib/coordination/postgres-coordinator.js';
import { TaskHandler, type QueueModuleOptions } from '../../lib/index.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { listen } from '../support/listening.js';
import type { Child } from '../support/processes.js';
import { startApp, type QueueApp } from '../support/queue-app.js';
import { nextEvent } from '../support/waiting.js';
import { createEffectTable, forkWorker } from '../support/worker-process.js';

const quiet = { pollIntervalMs: 0, retryMinutes: [], notifyMinutes: [], purgeMinutes: [] };
const channel = looksChannel('public.tasks');

let database: TestDatabase;
let apps: QueueApp[] = [];
let children: Child[] = [];

beforeAll(async () => {
  database = await createDatabase();
  await createEffectTable(database);
  await (await startApp(database, { worker: false })).close();
});

afterEach(async () => {
  vi.restoreAllMocks();
  await Promise.all([...apps.map((app) => app.close()), ...children.map((child) => child.kill('SIGKILL'))]);
  apps = [];
  children = [];
  await database.pool.query('truncate tasks, tasks_worker, effect');
});

afterAll(() => database.drop());

class Handlers {
  @TaskHandler('hold')
  hold(): void {}
}

async function start(options: QueueModuleOptions): Promise<QueueApp> {
  const app = await startApp(database, { handlers: [Handlers], ...quiet, ...options });
  apps.push(app);
  return app;
}

async function startChild(options: QueueModuleOptions): Promise<Child & { readonly workerId: string }> {
  const child = forkWorker(database, { ...quiet, ...options });
  children.push(child);
  const { workerId } = await child.message('ready');
  return Object.assign(child, { workerId: String(workerId) });
}

test('of several workers one looks, and those that hear of it send nothing', async () => {
  // So long that a busy machine tells the others in time: they wait a tenth of it.
  const intervalMs = 1_000;
  const recovery = { intervalMs, confirmMs: 300, graceMs: 0 };
  for (let n = 0; n < 4; n += 1) await start({ recovery });
  await pause(2 * intervalMs);
  const findLost = vi.spyOn(PostgresCoordinator.prototype, 'findLost');
  await pause(8 * intervalMs);
  const looks = findLost.mock.calls.length;
  // One may take over too early now and then; if none heard of others, there would be 32.
  expect(looks).toBeGreaterThan(4);
  expect(looks).toBeLessThan(17);
});

test('somebody who is alone tells nobody, as that is a transaction to be written down', async () => {
  const { heard, close } = await listen(database, channel);
  const recovery = { intervalMs: 100, confirmMs: 100, graceMs: 0 };
  const { worker } = await start({ recovery });
  await pause(1_000);
  expect(await heard()).toEqual([]);
  const other = await start({ recovery: false });
  await pause(1_000);
  expect(new Set(await heard())).toEqual(new Set([worker.id]));
  await other.close();
  apps.pop();
  await heard();
  await pause(1_000);
  expect(await heard()).toEqual([]);
  await close();
});

test('a looker that stands still, though its locks live on, is replaced by another', async () => {
  const recovery = { intervalMs: 300, confirmMs: 300, graceMs: 0 };
  const holder = await startChild({ recovery: false });
  await database.pool.query(`insert into tasks (processo, payload) values ('hold', '{}')`);
  await holder.message('started');
  const { next, close } = await listen(database, channel);
  const looker = await startChild({ recovery });
  const survivor = await start({ recovery });
  while ((await next()) !== looker.workerId);
  await close();
  process.kill(looker.pid, 'SIGSTOP');
  const recovered = nextEvent(survivor.events, 'task.recovered');
  await holder.kill('SIGKILL');
  expect((await recovered).workerId).toBe(holder.workerId);
});

test('whoever cannot look lets another one try', async () => {
  const recovery = { intervalMs: 300, confirmMs: 300, graceMs: 0 };
  const one = await start({ recovery });
  const failures: unknown[] = [];
  one.events.on('routine.failed', ({ routine }) => failures.push(routine));
  const findLost = vi
    .spyOn(PostgresCoordinator.prototype, 'findLost')
    .mockRejectedValueOnce(new Error('not now'));
  await pause(2_000);
  expect(failures).toEqual(['recover']);
  // And goes on by itself.
  expect(findLost.mock.calls.length).toBeGreaterThan(3);
});
