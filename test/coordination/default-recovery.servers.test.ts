import { afterAll, beforeAll, expect, test } from 'vitest';
import { looksChannel } from '../../lib/coordination/postgres/channels.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { listen } from '../support/listening.js';
import { startApp } from '../support/queue-app.js';
import type { Child } from '../support/processes.js';
import { until } from '../support/waiting.js';
import { createEffectTable, forkWorker } from '../support/worker-process.js';

/** What is promised, with every option at its default; the routines, which might be sooner, are off. */
const promisedMs = 15_000;

let databases: TestDatabase[];

beforeAll(async () => {
  databases = await Promise.all([createDatabase(), createDatabase()]);
  for (const database of databases) {
    await createEffectTable(database);
    await (await startApp(database, { worker: false })).close();
  }
  // Nobody is called lost while the server has just started.
  await until(async () => {
    const { rows } = await databases[0]!.pool.query<{ ready: boolean }>(
      `select clock_timestamp() - pg_postmaster_start_time() > interval '10 seconds' as ready`,
    );
    return rows[0]?.ready;
  }, 'the server is up for ten seconds');
});

afterAll(() => Promise.all(databases.map((database) => database.drop())));

async function start(database: TestDatabase): Promise<Child> {
  const worker = forkWorker(database, {});
  await worker.message('ready');
  return worker;
}

async function startHolding(database: TestDatabase): Promise<Child> {
  const worker = await start(database);
  await database.pool.query(`insert into tasks (processo, payload) values ('hold', '{}')`);
  await worker.message('started');
  return worker;
}

test.concurrent(
  'the task of a killed worker runs again in time, though the worker was the one that recovers others',
  async () => {
    const [database] = databases as [TestDatabase];
    const victim = await startHolding(database);
    const { next, close } = await listen(database, looksChannel('public.tasks'));
    const survivor = await start(database);
    const { workerId } = await victim.message('ready');
    expect(await next()).toBe(workerId);
    await close();
    const began = performance.now();
    await victim.kill('SIGKILL');
    await survivor.message('started');
    expect(performance.now() - began).toBeLessThan(promisedMs);
  },
  60_000,
);

test.concurrent(
  'so does that of a worker that is alone and is started again',
  async () => {
    const [, database] = databases as [TestDatabase, TestDatabase];
    const victim = await startHolding(database);
    const began = performance.now();
    await victim.kill('SIGKILL');
    const successor = await start(database);
    await successor.message('started');
    expect(performance.now() - began).toBeLessThan(promisedMs);
  },
  60_000,
);
