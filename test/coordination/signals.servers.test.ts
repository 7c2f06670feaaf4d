import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { startApp } from '../support/queue-app.js';
import type { Child } from '../support/processes.js';
import { until } from '../support/waiting.js';
import { createEffectTable, forkWorker } from '../support/worker-process.js';

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
  await createEffectTable(database);
  await (await startApp(database, { worker: false })).close();
});

beforeEach(() => database.pool.query('truncate tasks, effect, tasks_worker'));

afterAll(() => database.drop());

/** A worker in the middle of a task. */
async function startHolding(): Promise<Child> {
  const worker = forkWorker(database, { recovery: false, pollIntervalMs: 0, concurrency: 1 });
  await worker.message('ready');
  await database.pool.query(`insert into tasks (processo, payload) values ('hold', '{}')`);
  await worker.message('started');
  return worker;
}

async function stopsClaiming(worker: Child): Promise<void> {
  await until(async () => {
    worker.send('state');
    return worker.messages.some(({ type, state }) => type === 'state' && state === 'stopping');
  }, 'the worker drains');
}

async function taskRow(): Promise<unknown> {
  return (await database.pool.query('select status, tentativa, executor is not null as held from tasks'))
    .rows[0];
}

test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  'at %s running handlers finish, and the process ends by it',
  async (signal) => {
    const worker = await startHolding();
    worker.process.kill(signal);
    await stopsClaiming(worker);
    worker.send('release');
    expect(await worker.exit).toEqual({ code: null, signal });
    expect(await taskRow()).toMatchObject({ status: 'sucesso', tentativa: 1 });
  },
);

test.each([
  ['SIGTERM', 'SIGTERM'],
  ['SIGTERM', 'SIGINT'],
  ['SIGINT', 'SIGHUP'],
] as const)(
  '%s and then %s a while later ends at once, and leaves the task to recovery',
  async (first, second) => {
    const worker = await startHolding();
    worker.process.kill(first);
    const ended = worker.exit;
    // The same press arrives twice within a moment, so it takes a second until another one counts.
    const timer = setInterval(() => worker.process.kill(second), 300);
    expect(await ended).toEqual({ code: null, signal: second });
    clearInterval(timer);
    expect(await taskRow()).toEqual({ status: 'processando', tentativa: 1, held: true });
  },
);

test('two signals at once are one: handlers finish', async () => {
  const worker = await startHolding();
  worker.process.kill('SIGINT');
  worker.process.kill('SIGINT');
  await stopsClaiming(worker);
  worker.process.kill('SIGINT');
  worker.send('release');
  expect(await worker.exit).toEqual({ code: null, signal: 'SIGINT' });
  expect(await taskRow()).toMatchObject({ status: 'sucesso', tentativa: 1 });
});
