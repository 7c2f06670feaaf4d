import { afterEach, expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { holdTimers } from '../support/held-timers.js';
import type { QueueAppOptions } from '../support/queue-app.js';
import { workersAreQuiet } from '../support/quiet-worker.js';
import { nextEvent, until } from '../support/waiting.js';
import { testOnPostgres } from '../support/run-database.js';
import { useQueue } from './queue-bench.js';

const bench = useQueue();
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

afterEach(() => {
  ran = [];
});

/** A worker that looks for nothing by itself: what starts a task here is the timer. */
const start = (options: QueueAppOptions = {}) =>
  bench.start({ handlers: [Handlers], pollIntervalMs: 0, unknownTasks: 'leave', ...options });

/** As psql would. */
async function insertDueIn(ms: number, payload: string): Promise<void> {
  await bench.pool.query(
    `insert into tasks (processo, payload, data_hora)
     values ('note', $1, clock_timestamp() + $2::int * interval '1 millisecond')`,
    [payload, ms],
  );
}

testOnPostgres(
  'scheduled tasks start when they are due, also those that are due before what the timer was set to',
  async () => {
    const alarms = holdTimers((ms) => ms > 3_000_000);
    const { events } = await start({ concurrency: 1 });
    await insertDueIn(3_500_000, 'much later');
    await until(async () => alarms.waiting === 1, 'the timer is set to what is much later');
    const { rows } = await bench.pool.query(`
      insert into tasks (processo, payload, data_hora)
      select 'note', payload, clock_timestamp() + ms * interval '1 millisecond'
      from (values ('third', 1200), ('fourth', 1400), ('first', 800), ('second', 1000)) as soon (payload, ms)
      returning status`);
    expect(rows).toEqual(Array(4).fill({ status: 'agendada' }));
    // The one that is set lets nothing start: it is held.
    await nextEvent(events, 'task.completed', () => ran.length === 4);
    expect(ran).toEqual(['first', 'second', 'third', 'fourth']);
    const early = await bench.pool.query('select payload from tasks where iniciada_em < data_hora');
    expect(early.rows).toEqual([]);
  },
);

test('a task with a delay, inserted through the client', async () => {
  const { queue, events } = await start({ concurrency: 1 });
  const producer = await start({ worker: false, handlers: [] });
  const completed = nextEvent(events, 'task.completed', () => ran.length === 2);
  await queue.insertTask({ topic: 'note', payload: 'own', delayMs: 150 });
  await producer.queue.insertTasks([{ topic: 'note', payload: "another's", delayMs: 300 }]);
  await completed;
  expect(ran).toEqual(['own', "another's"]);
});

test('what is due when a worker starts, or was scheduled before it started', async () => {
  await (await start({ worker: false })).close();
  await insertDueIn(10, 'overdue');
  await insertDueIn(1_000, 'to come');
  await until(async () => {
    const { rowCount } = await bench.pool.query('select from tasks where data_hora < now()');
    return rowCount;
  }, 'one of them is due');
  await start({ concurrency: 1 });
  await until(async () => ran.length === 2, 'both run');
  expect(ran).toEqual(['overdue', 'to come']);
});

testOnPostgres('the next attempt of a failed task starts on time', async () => {
  const { queue, events } = await start();
  await workersAreQuiet(bench.database);
  const failed = nextEvent(events, 'task.failed');
  const completed = nextEvent(events, 'task.completed');
  await queue.insertTask({ topic: 'flaky', payload: 'try' });
  expect((await failed).nextAttemptInMs).toBeLessThanOrEqual(300);
  await completed;
  expect(ran).toEqual(['try 1', 'try 2']);
});

testOnPostgres(
  'the next attempt starts on time in another worker when the one that failed it is gone',
  async () => {
    const workers = await Promise.all([start(), start()]);
    await workersAreQuiet(bench.database);
    const failed = Promise.race(
      workers.map(async (worker) => ({ worker, failure: await nextEvent(worker.events, 'task.failed') })),
    );
    const completed = Promise.race(workers.map(({ events }) => nextEvent(events, 'task.completed')));
    await bench.pool.query(`insert into tasks (processo, payload) values ('flaky', 'try')`);
    const { worker, failure } = await failed;
    await worker.close();
    expect((await completed).task).toMatchObject({ firstAttemptId: failure.task.id, attempt: 2 });
  },
);

test('a retry much later does not put off what is due before', async () => {
  const { worker, events } = await start({ autoStart: false, wake: 'poll', pollIntervalMs: 3_600_000 });
  await insertDueIn(600, 'soon');
  await bench.pool.query(`insert into tasks (processo) values ('hourly')`);
  const failed = nextEvent(events, 'task.failed');
  await worker.start();
  expect((await failed).nextAttemptInMs).toBeGreaterThan(3_000_000);
  await until(async () => ran.length === 1, 'the task that is due soon');
  expect(ran).toEqual(['soon']);
});

test('with the timer off only the notify routine starts scheduled tasks', async () => {
  const timers = holdTimers((ms) => ms > 3_000_000);
  const { queue, notify, events } = await start({ scheduledTimer: false });
  await insertDueIn(3_500_000, 'by SQL');
  await queue.insertTask({ topic: 'note', payload: 'by client', delayMs: 3_500_000 });
  await bench.pool.query(
    `update tasks set data_hora = now() - (case payload when 'by SQL' then 2 else 1 end) * interval '1 second'`,
  );
  // A ring makes the worker look, and find nothing but this one.
  await queue.insertTask({ topic: 'note', payload: 'now' });
  await nextEvent(events, 'task.completed');
  expect(ran).toEqual(['now']);
  const { rowCount } = await bench.pool.query(`select from tasks where status = 'agendada'`);
  expect(rowCount).toBe(2);
  expect(timers.asked).toEqual([]);
  expect(await notify.run()).toBe(2);
  await until(async () => ran.length === 3, 'both run');
  expect(ran).toEqual(['now', 'by SQL', 'by client']);
});
