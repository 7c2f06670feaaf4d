import { expect, test } from 'vitest';
import { QueueAdmin, Subscriber, TaskHandler, type TaskContext } from '../../lib/index.js';
import { deferred, nextEvent, until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';

// What tests do between each other, under a running application: they empty every table that they find.

const bench = useQueue();

class Handlers {
  static held = deferred();
  static begun = deferred();

  @Subscriber('stock', { topic: 'order-placed' })
  stock(order: unknown): unknown {
    return order;
  }

  @Subscriber('mail', { topic: 'order-placed' })
  mail(): void {}

  @TaskHandler('work')
  work(): void {}

  @TaskHandler('hang')
  async hang(task: { readonly n: number }, { db }: TaskContext): Promise<string> {
    if (task.n === 0) return 'second';
    if (task.n === 2) await db.query('select 1');
    Handlers.begun.resolve();
    await Handlers.held.promise;
    return 'first';
  }
}

/** Where one statement empties one table, the workers' comes last: a worker that misses its row writes down again what is gone by then. */
const sideTables = ['subscriber', 'schedule', 'paused', 'history', 'seal', 'worker'];
const allTables = ['tasks', ...sideTables.map((suffix) => `tasks_${suffix}`)];

async function empty(tables: readonly string[] = allTables): Promise<void> {
  await bench.pool.query(`truncate ${tables.join(', ')} restart identity`);
}

/** Polls come quickly: one of them finds that the worker's row is gone. */
const options = { handlers: [Handlers], pollIntervalMs: 50 };

const runningWorkers = async (): Promise<string[]> => {
  const { rows } = await bench.pool.query('select id from tasks_worker where stopped_at is null order by id');
  return rows.map(({ id }) => String(id));
};

test('a publication reaches the subscriptions that the application declares', async () => {
  const { queue, events } = await bench.start({ handlers: [Handlers] });
  const notices: string[] = [];
  events.on('notice', ({ message }) => void notices.push(message));
  for (let round = 1; round <= 2; round += 1) {
    await empty();
    const delivered = nextEvent(events, 'publication.delivered');
    const completed = nextEvent(
      events,
      'task.completed',
      ({ task: { subscriptionId } }) => subscriptionId === 'stock',
    );
    await queue.insertTaskPubSub({ topic: 'order-placed', payload: { round } });
    expect((await delivered).deliveries).toBe(2);
    await completed;
  }
  const again = notices.filter((line) => line.includes('again'));
  expect(again[0]).toMatch(
    /^subscribed 'mail' to topic 'order-placed', 'stock' to topic 'order-placed' again: /,
  );
});

test('a row that is there is left as it is: what it does not match is discarded, and the advice fits', async () => {
  const lines: string[] = [];
  const logger = { log() {}, error() {}, warn: (line: unknown) => void lines.push(JSON.stringify(line)) };
  const { queue, events } = await bench.start({ handlers: [Handlers], logger });
  await bench.pool.query('update tasks_subscriber set ativo = false');
  const discarded = nextEvent(events, 'publication.discarded');
  const id = await queue.insertTaskPubSub({ topic: 'order-placed' });
  expect(new Set((await discarded).declared)).toEqual(new Set(['stock', 'mail']));
  expect(await bench.ended(id)).toMatchObject({ mensagem: 'discarded: no active subscription matches' });
  const line = lines.find((one) => one.includes('reached nobody')) ?? '';
  expect(line).toContain('its row is inactive, or for another tenant or group');
  expect(line).not.toContain('Declare one');
});

test('a worker that starts beside one that runs takes another id', async () => {
  const first = await bench.start(options);
  await empty();
  const second = await bench.start(options);
  expect(second.worker.id).not.toBe(first.worker.id);
  const both = [first.worker.id, second.worker.id].map(String).sort();
  await until(async () => String(await runningWorkers()) === String(both), 'both are written down');
  const third = await bench.start(options);
  expect(both).not.toContain(third.worker.id);
  // Each gives up its own.
  await second.close();
  expect(await runningWorkers()).toEqual([first.worker.id, third.worker.id].map(String).sort());
});

test('nor does it take the id of one that is gone and has left attempts', async () => {
  const gone = await bench.start({ ...options, recovery: false });
  const id = String(gone.worker.id);
  await gone.close();
  await empty();
  for (let left = 1; left <= 3; left += 1) {
    await bench.pool.query(
      `insert into tasks (processo, status, executor, reserva, iniciada_em) values ('work', 'processando', $1, 1, now())`,
      [left],
    );
  }
  const { worker } = await bench.start({
    ...options,
    recovery: { intervalMs: 100, confirmMs: 50, graceMs: 0 },
  });
  expect(['1', '2', '3']).not.toContain(worker.id);
  expect(Number(id)).toBeGreaterThan(0);
  const ended = async (): Promise<boolean> => {
    const { rows } = await bench.pool.query(`select id from tasks where status = 'sucesso'`);
    return rows.length === 3;
  };
  await until(ended, 'what it held was recovered and run');
});

test('the row of a running worker comes back: it is told of, told to stop, and its routes count as served', async () => {
  const { app, worker, events } = await bench.start(options);
  const warned = nextEvent(events, 'warning');
  await empty();
  expect((await warned).message).toMatch(
    new RegExp(`^the row of running worker ${worker.id} was deleted from the table of workers`),
  );
  // Its row is written first, its subscriptions last.
  await until(async () => {
    const { rows } = await bench.pool.query('select id from tasks_subscriber');
    return rows.length === 2;
  }, 'it is there again');
  expect(await runningWorkers()).toEqual([worker.id]);
  const { rows } = await bench.pool.query('select pid, routes from tasks_worker');
  expect(rows[0]).toMatchObject({ pid: process.pid });
  expect(String(rows[0]?.routes)).toContain('t:work');
  const { rows: subscribed } = await bench.pool.query('select id from tasks_subscriber order by id');
  expect(subscribed.map(({ id }) => String(id))).toEqual(['mail', 'stock']);
  expect((await bench.pool.query('select single from tasks_seal')).rows).toHaveLength(1);
  const stopped = nextEvent(events, 'worker.stopped');
  expect(await app.get(QueueAdmin, { strict: false }).halt()).toEqual([worker.id]);
  await stopped;
});

test.each([
  ['alone', 1],
  ['in its transaction', 2],
])('a handler that works %s ends nothing of the task that took its id', async (_, n) => {
  Handlers.held = deferred();
  Handlers.begun = deferred();
  const { queue, events } = await bench.start(options);
  await empty();
  await queue.insertTask({ topic: 'hang', payload: { n } });
  await Handlers.begun.promise;
  await empty(['tasks']);
  const lost = nextEvent(events, 'task.lost');
  const first = Handlers.held;
  const begun = (Handlers.begun = deferred());
  Handlers.held = deferred();
  const id = await queue.insertTask({ topic: 'hang', payload: { n: 3 } });
  await begun.promise;
  first.resolve();
  await lost;
  expect(await bench.row(id)).toMatchObject({ id: '1', status: 'processando' });
  Handlers.held.resolve();
  expect(await bench.ended(id)).toMatchObject({ status: 'sucesso' });
});

test('after every table was emptied tasks run, fail, are paused and cancelled, and an application starts', async () => {
  const { app, queue } = await bench.start(options);
  await queue.insertTasks(Array.from({ length: 30 }, () => ({ topic: 'work' })));
  await until(async () => {
    const { rows } = await bench.pool.query(`select id from tasks where status = 'sucesso'`);
    return rows.length === 30;
  }, 'all have run');
  await empty();
  expect(await bench.ended(await queue.insertTask({ topic: 'work' }))).toMatchObject({ status: 'sucesso' });
  const admin = app.get(QueueAdmin, { strict: false });
  await admin.pause({ topic: 'work' });
  // A worker that has not heard of it yet runs what comes.
  const paused = await until(async () => {
    const id = await queue.insertTask({ topic: 'work' });
    await bench.ended(await queue.insertTask({ topic: 'hang', payload: { n: 0 } }));
    return (await bench.statusOf(id)) === 'pendente' && id;
  }, 'the worker to hear of the pause');
  const cancelled = await queue.insertTask({ topic: 'work' });
  await admin.cancel(cancelled);
  await empty(['tasks_paused']);
  expect(await bench.ended(paused)).toMatchObject({ status: 'sucesso' });
  expect(await bench.row(cancelled)).toMatchObject({ status: 'falha' });
  const other = await bench.start(options);
  expect(await bench.ended(await other.queue.insertTask({ topic: 'work' }))).toMatchObject({
    status: 'sucesso',
  });
});
