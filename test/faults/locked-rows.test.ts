import { beforeEach, expect, test } from 'vitest';
import { Subscriber, TaskHandler, type TaskContext } from '../../lib/index.js';
import type { QueueApp, QueueAppOptions } from '../support/queue-app.js';
import { workersAreQuiet } from '../support/quiet-worker.js';
import { subscribe } from '../support/subscriptions.js';
import { nextEvent, until } from '../support/waiting.js';
import { useFaults } from './kit/fault-bench.js';
import { startFaultWorker } from './kit/fault-worker.js';
import { allOnce, drained } from './kit/outcome.js';

/** No ring announces that a lock was released: a worker looks by itself within about a second. Time enough for a slow machine. */
const soonMs = 5_000;

const bench = useFaults();
let runs: string[];

beforeEach(() => {
  runs = [];
});

class Handlers {
  @TaskHandler('task')
  task(payload: { name?: string }, { task }: TaskContext): void {
    runs.push(`${payload.name ?? task.topic}`);
  }

  @TaskHandler('hold')
  hold(): void {
    runs.push('hold');
  }

  @Subscriber('mail')
  mail(_: unknown, { task }: TaskContext): void {
    runs.push(`mail ${task.attempt}`);
  }
}

const start = (options: QueueAppOptions = {}): Promise<QueueApp> =>
  bench.start({ handlers: [Handlers], ...options });

async function insert(name: string, columns = ''): Promise<string> {
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo, payload ${columns && ', data_hora'})
     values ('task', jsonb_build_object('name', $1::text) ${columns && `, ${columns}`}) returning id`,
    [name],
  );
  return rows[0]?.id ?? '';
}

/** Locks a task in a session of its own, as a monitor, a backup script or a slow migration might. */
async function lock(id: string) {
  const client = await bench.pool.connect();
  await client.query('begin');
  await client.query('select from tasks where id = $1 for update', [id]);
  return {
    release: async () => {
      await client.query('rollback');
      client.release();
    },
  };
}

test('what is locked when it should be claimed holds up nobody, and is claimed soon after the lock goes', async () => {
  const started = await start({ autoStart: false });
  const { release } = await lock(await insert('locked'));
  await insert('free');
  await started.worker.start();
  await until(async () => runs.length === 1, 'the other one runs');
  await workersAreQuiet(bench);
  expect(runs).toEqual(['free']);
  await release();
  expect(await drained(bench.pool, soonMs)).toEqual(allOnce(0, 2));
});

test('what is locked when it is due is promoted soon after the lock goes', async () => {
  await start();
  const { release } = await lock(await insert('locked', `now() + interval '200 milliseconds'`));
  await insert('free', `now() + interval '300 milliseconds'`);
  await until(async () => runs.length === 1, 'the other one runs');
  await release();
  expect(await drained(bench.pool, soonMs)).toEqual(allOnce(0, 2));
  expect(runs).toEqual(['free', 'locked']);
});

test('what is locked when it should be given back is given back by a later look', async () => {
  const { events } = await start({ pollIntervalMs: 2_000 });
  await workersAreQuiet(bench);
  const released = nextEvent(events, 'task.released');
  const restored = nextEvent(events, 'connection.restored');
  // It is claimed; the worker will never know.
  const answers = bench.proxy.holdAnswers('control');
  const id = await insert('claimed for nothing');
  await answers.answered;
  const { release } = await lock(id);
  expect(bench.proxy.reset('control')).toBe(1);
  answers.release();
  await restored;
  await insert('free');
  await until(async () => runs.length === 1, 'the other one runs');
  expect(runs).toEqual(['free']);
  await release();
  expect((await released).task).toMatchObject({ id, attempt: 1 });
  expect(await drained(bench.pool, soonMs)).toEqual(allOnce(0, 2));
  expect(runs).toEqual(['free', 'claimed for nothing']);
});

test('a publication that is locked when it should be delivered is delivered soon after, and holds up no task', async () => {
  await start();
  await subscribe(bench, [{ id: 'mail' }]);
  await insert('first');
  await drained(bench.pool);
  await workersAreQuiet(bench);
  // It is claimed; the worker does not know yet.
  const answers = bench.proxy.holdAnswers('control');
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo, pub_sub, payload) values ('order-placed', true, '{}') returning id`,
  );
  await answers.answered;
  const { release } = await lock(rows[0]?.id ?? '');
  answers.release();
  await insert('second');
  await until(async () => runs.includes('second'), 'a task runs meanwhile');
  expect(runs).toEqual(['first', 'second']);
  await release();
  await until(async () => runs.includes('mail 1'), 'the delivery', soonMs);
  expect(await drained(bench.pool, soonMs)).toEqual(allOnce(0, 4));
  expect(runs).toEqual(['first', 'second', 'mail 1']);
});

test('a task of a lost worker that is locked when it should be recovered is recovered soon after, its neighbour at once', async () => {
  const worker = await startFaultWorker(bench.database, { recovery: false });
  const { rows } = await bench.pool.query<{ id: string }>(
    `insert into tasks (processo, payload) values ('hold', '{}'), ('hold', '{}') returning id`,
  );
  await until(async () => worker.messages.filter(({ type }) => type === 'started').length === 2, 'both run');
  const { release } = await lock(rows[0]?.id ?? '');
  await worker.kill('SIGKILL');
  await start({ recovery: { intervalMs: 100, confirmMs: 100, graceMs: 0 } });
  await until(async () => runs.length === 1, 'the neighbour runs again');
  await release();
  expect(await drained(bench.pool, soonMs)).toEqual(allOnce(0, 2));
  expect(runs).toEqual(['hold', 'hold']);
});
