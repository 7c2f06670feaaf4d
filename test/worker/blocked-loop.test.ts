import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { TaskHandler, type QueueEventMap } from '../../lib/index.js';
import { useDatabase } from '../support/database.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { startApp } from '../support/queue-app.js';
import { unlessTold } from '../support/run-database.js';
import { until } from '../support/waiting.js';
import { createEffectTable, forkWorker } from '../support/worker-process.js';

/** Far shorter than the loop is blocked: sixty seconds against the default five are no different. */
const recovery = { intervalMs: 50, confirmMs: 50, graceMs: 0 };
const blockedMs = 1_000;

const database = await useDatabase();
await createEffectTable(database);

test('a handler that blocks the event loop keeps its task, and its neighbours theirs', async () => {
  const worker = forkWorker(database, { recovery, pollIntervalMs: unlessTold });
  await worker.message('ready');
  // Others look for lost workers all the time.
  const looker = await startApp(database, { recovery, unknownTasks: 'leave', pollIntervalMs: 0 });
  const recovered: unknown[] = [];
  looker.events.on('task.recovered', (event) => recovered.push(event));
  const unblock = join(await makeTemporaryFolder(), 'unblock');
  const payload = JSON.stringify({ ms: blockedMs, until: unblock });
  await database.pool.query(
    `insert into tasks (processo, payload) values ('hold', '{}'), ('block', '${payload}')`,
  );
  await until(async () => worker.messages.filter(({ type }) => type === 'started').length === 2, 'both run');
  const began = performance.now();
  for (let rounds = 0; rounds < 10 || performance.now() - began < blockedMs; rounds += 1) {
    await looker.retry.run();
  }
  expect(worker.messages.some(({ type }) => type === 'unblocked')).toBe(false);
  await writeFile(unblock, '');
  worker.send('release');
  await until(async () => {
    const { rowCount } = await database.pool.query(`select from tasks where status = 'sucesso'`);
    return rowCount === 2;
  }, 'both succeed');
  const { rows } = await database.pool.query('select tentativa, reserva, perdas from tasks');
  expect(rows).toEqual([
    { tentativa: 1, reserva: 1, perdas: 0 },
    { tentativa: 1, reserva: 1, perdas: 0 },
  ]);
  expect(recovered).toEqual([]);
  await looker.close();
});

class Computing {
  @TaskHandler('computes')
  computes(): void {
    const endAt = performance.now() + 500;
    while (performance.now() < endAt);
  }
}

test('a handler that blocks the event loop is named, with its task', async () => {
  const { queue, events, close } = await startApp(database, { handlers: [Computing], maxLoopDelayMs: 200 });
  onTestFinished(close);
  const told: QueueEventMap['loop.blocked'][] = [];
  events.on('loop.blocked', (event) => told.push(event));
  const id = await queue.insertTask({ topic: 'computes' });
  await until(async () => told.length > 0, 'it is told');
  expect(told[0]).toMatchObject({ tasks: [{ id, topic: 'computes' }] });
  expect(told[0]?.blockedMs).toBeGreaterThan(200);
});

test('a worker knows how late its event loop was, and how often it has paused its claims for that', async () => {
  const { queue, worker, close } = await startApp(database, {
    handlers: [Computing],
    maxLoopDelayMs: 200,
    pauseWhileBlocked: true,
  });
  await queue.insertTask({ topic: 'computes' });
  const delay = await until(async () => {
    const now = worker.loopDelay;
    return now && now.maxMs > 200 && now;
  }, 'the delay to be known');
  // What is left of 500 ms after the look before, which comes every 50 ms.
  expect(delay.maxMs).toBeGreaterThanOrEqual(400);
  expect(delay.pauses).toBeGreaterThanOrEqual(1);
  expect(delay.p99Ms).toBeLessThanOrEqual(delay.maxMs);
  await close();
  expect(worker.loopDelay).toBeUndefined();
});

test('one that does not watch its event loop knows nothing of it', async () => {
  const { worker, close } = await startApp(database, { maxLoopDelayMs: 0 });
  onTestFinished(close);
  expect(worker.loopDelay).toBeUndefined();
});
