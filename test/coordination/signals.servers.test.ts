import { setTimeout as pause } from 'node:timers/promises';
import { beforeEach, expect, test } from 'vitest';
import { useDatabase } from '../support/database.js';
import { createQueue } from '../support/queue-app.js';
import { forkChild, type Child, type ForkOptions } from '../support/processes.js';
import { until } from '../support/waiting.js';
import { createEffectTable } from '../support/worker-process.js';

const database = await useDatabase();
await createEffectTable(database);
await createQueue(database);

beforeEach(() => database.pool.query('truncate tasks, effect, tasks_worker'));

/** A worker in the middle of a task. */
async function startHolding(how: ForkOptions = {}): Promise<Child> {
  const options = { recovery: false, pollIntervalMs: 0, concurrency: 1 };
  const env = { DATABASE_URL: database.url, QUEUE_OPTIONS: JSON.stringify(options), ...how.env };
  const worker = forkChild('worker', { ...how, env });
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

/** Until what comes is no longer taken for the same press as the signal that began the drain. */
const pastOnePress = (): Promise<void> => pause(1_100);

async function hears(worker: Child, signals: readonly NodeJS.Signals[]): Promise<void> {
  const heard = (): unknown[] =>
    worker.messages.filter(({ type }) => type === 'heard').map(({ signal }) => signal);
  await until(async () => heard().length >= signals.length, 'the signals are heard');
  expect(heard()).toEqual(signals);
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

test.each(['SIGTERM', 'SIGINT'] as const)(
  'Ctrl-C a while after %s ends at once, and leaves the task to recovery',
  async (first) => {
    const worker = await startHolding();
    worker.process.kill(first);
    const ended = worker.exit;
    // The same press arrives twice within a moment, so it takes a second until another one counts.
    const timer = setInterval(() => worker.process.kill('SIGINT'), 300);
    expect(await ended).toEqual({ code: null, signal: 'SIGINT' });
    clearInterval(timer);
    expect(await taskRow()).toEqual({ status: 'processando', tentativa: 1, held: true });
  },
);

test('as process 1 of a container, which no signal ends by itself, it ends at a second Ctrl-C too', async () => {
  const worker = await startHolding({
    launcher: [
      'unshare',
      ...(process.getuid?.() === 0 ? [] : ['--map-root-user']),
      '--pid',
      '--fork',
      '--kill-child',
    ],
  });
  worker.send('raise SIGINT');
  const ended = worker.exit;
  const timer = setInterval(() => worker.send('raise SIGINT'), 300);
  expect(await ended).toEqual({ code: 130, signal: null });
  clearInterval(timer);
});

test.each([
  ['SIGTERM', 'SIGTERM'],
  ['SIGINT', 'SIGHUP'],
] as const)('%s and then %s a while later: running handlers finish', async (first, second) => {
  const worker = await startHolding();
  worker.process.kill(first);
  await stopsClaiming(worker);
  await pastOnePress();
  worker.process.kill(second);
  await hears(worker, [first, second]);
  worker.send('release');
  expect(await worker.exit).toEqual({ code: null, signal: first });
  expect(await taskRow()).toMatchObject({ status: 'sucesso', tentativa: 1 });
});

test.each(['SIGTERM', 'SIGINT'] as const)(
  'another application of the process that has closed at %s raises it again: running handlers finish',
  async (signal) => {
    const worker = await startHolding({ env: { NEIGHBOUR: '' } });
    worker.process.kill(signal);
    await stopsClaiming(worker);
    await pastOnePress();
    worker.send('close the neighbour');
    await hears(worker, [signal, signal]);
    worker.send('release');
    expect(await worker.exit).toEqual({ code: null, signal });
    expect(await taskRow()).toMatchObject({ status: 'sucesso', tentativa: 1 });
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
