import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { startApp, type QueueApp, type QueueAppOptions } from '../support/queue-app.js';
import { workersAreQuiet } from '../support/quiet-worker.js';
import { nextEvent, until } from '../support/waiting.js';
import { testOnPostgres } from '../support/run-database.js';

let database: TestDatabase;
let apps: QueueApp[] = [];
let ran: string[] = [];

class Handlers {
  @TaskHandler('note')
  note(payload: string): void {
    ran.push(payload);
  }

  @TaskHandler('flaky', { retryDelayMs: 300 })
  flaky(payload: string, { task }: TaskContext): void {
    ran.push(`${payload} ${task.attempt}`);
    if (task.attempt === 1) throw new Error('not yet');
  }

  @TaskHandler('hourly', { retryDelayMs: 3_600_000 })
  hourly(): void {
    throw new Error('in an hour');
  }
}

beforeAll(async () => {
  database = await createDatabase();
});

afterEach(async () => {
  await Promise.all(apps.map((app) => app.close()));
  apps = [];
  ran = [];
  await database.pool.query('truncate tasks');
});

afterAll(() => database.drop());

/** A worker that looks for nothing by itself: what starts a task here is the timer. */
async function start(options: QueueAppOptions = {}): Promise<QueueApp> {
  const quiet = { pollIntervalMs: 0, unknownTasks: 'leave' } as const;
  const app = await startApp(database, { handlers: [Handlers], ...quiet, ...options });
  apps.push(app);
  return app;
}

/** As psql would. */
async function insertDueIn(ms: number, payload: string): Promise<void> {
  await database.pool.query(
    `insert into tasks (processo, payload, data_hora)
     values ('note', $1, clock_timestamp() + $2::int * interval '1 millisecond')`,
    [payload, ms],
  );
}

/** How long after its time each task was started, in ms. */
async function delays(): Promise<readonly number[]> {
  const { rows } = await database.pool.query<{ ms: number }>(
    `select extract(epoch from iniciada_em - data_hora)::float8 * 1000 as ms from tasks where status = 'sucesso'`,
  );
  return rows.map(({ ms }) => ms);
}

testOnPostgres(
  'scenario 63: scheduled tasks start on time, also one that is due before what the timer was set to',
  async () => {
    const { events } = await start();
    await insertDueIn(700, 'third');
    await insertDueIn(900, 'fourth');
    await insertDueIn(3_600_000, 'much later');
    await insertDueIn(250, 'first');
    await insertDueIn(500, 'second');
    const { rows } = await database.pool.query('select distinct status from tasks');
    expect(rows).toEqual([{ status: 'agendada' }]);
    await nextEvent(events, 'task.completed', () => ran.length === 4);
    expect(ran).toEqual(['first', 'second', 'third', 'fourth']);
    await until(async () => (await delays()).length === 4, 'all four are settled');
    for (const delay of await delays()) {
      expect(delay).toBeGreaterThanOrEqual(0);
      expect(delay).toBeLessThan(5_000);
    }
  },
);

test('scenario 63: a task with a delay, inserted through the client', async () => {
  const { queue, events } = await start();
  const producer = await start({ worker: false, handlers: [] });
  const completed = nextEvent(events, 'task.completed', () => ran.length === 2);
  await queue.insertTask({ topic: 'note', payload: 'own', delayMs: 150 });
  await producer.queue.insertTasks([{ topic: 'note', payload: "another's", delayMs: 300 }]);
  await completed;
  expect(ran).toEqual(['own', "another's"]);
});

test('scenario 63: what is due when a worker starts, or was scheduled before it started', async () => {
  await (await start({ worker: false })).close();
  await insertDueIn(10, 'overdue');
  await insertDueIn(1_000, 'to come');
  await until(async () => {
    const { rowCount } = await database.pool.query('select from tasks where data_hora < now()');
    return rowCount;
  }, 'one of them is due');
  await start();
  await until(async () => ran.length === 2, 'both run');
  expect(ran).toEqual(['overdue', 'to come']);
});

testOnPostgres('scenario 63: the next attempt of a failed task starts on time', async () => {
  const { queue, events } = await start();
  await workersAreQuiet(database);
  const failed = nextEvent(events, 'task.failed');
  const completed = nextEvent(events, 'task.completed');
  await queue.insertTask({ topic: 'flaky', payload: 'try' });
  expect((await failed).nextAttemptInMs).toBeLessThanOrEqual(300);
  await completed;
  expect(ran).toEqual(['try 1', 'try 2']);
});

testOnPostgres(
  'scenario 63: the next attempt starts on time in another worker when the one that failed it is gone',
  async () => {
    const workers = await Promise.all([start(), start()]);
    await workersAreQuiet(database);
    const failed = Promise.race(
      workers.map(async (worker) => ({ worker, failure: await nextEvent(worker.events, 'task.failed') })),
    );
    const completed = Promise.race(workers.map(({ events }) => nextEvent(events, 'task.completed')));
    await database.pool.query(`insert into tasks (processo, payload) values ('flaky', 'try')`);
    const { worker, failure } = await failed;
    await worker.close();
    expect((await completed).task).toMatchObject({ firstAttemptId: failure.task.id, attempt: 2 });
  },
);

test('scenario 63: a retry much later does not put off what is due before', async () => {
  const { worker, events } = await start({ autoStart: false, wake: 'poll', pollIntervalMs: 3_600_000 });
  await insertDueIn(600, 'soon');
  await database.pool.query(`insert into tasks (processo) values ('hourly')`);
  const failed = nextEvent(events, 'task.failed');
  await worker.start();
  expect((await failed).nextAttemptInMs).toBeGreaterThan(3_000_000);
  await until(async () => ran.length === 1, 'the task that is due soon');
  expect(ran).toEqual(['soon']);
});

test('scenario 63: with the timer off only the notify routine starts scheduled tasks', async () => {
  const { queue, notify, events } = await start({ scheduledTimer: false });
  // Longer than a busy server may take from reading the clock to filing the row.
  await insertDueIn(1_000, 'by SQL');
  await queue.insertTask({ topic: 'note', payload: 'by client', delayMs: 1_100 });
  await queue.insertTask({ topic: 'note', payload: 'now' });
  await nextEvent(events, 'task.completed');
  await until(async () => {
    const { rowCount } = await database.pool.query(
      `select from tasks where status = 'agendada' and data_hora < now() - interval '200 milliseconds'`,
    );
    return rowCount === 2;
  }, 'both are due, and stay');
  expect(ran).toEqual(['now']);
  expect(await notify.run()).toBe(2);
  await until(async () => ran.length === 3, 'both run');
  expect(ran).toEqual(['now', 'by SQL', 'by client']);
});
