import { expect, test } from 'vitest';
import { Subscriber, TaskHandler, type TaskContext } from '../../lib/index.js';
import { until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';
import { handleOf } from '../support/database.js';
import { onPostgres, unlessTold } from '../support/run-database.js';

const bench = useQueue();

/** Notes the external keys of the tasks in the order in which they run. */
function orderOf() {
  const order: (string | null)[] = [];
  const note = ({ task }: TaskContext): void => void order.push(task.externalKey);
  class Noting {
    @TaskHandler('a')
    a(_: unknown, ctx: TaskContext) {
      note(ctx);
    }
    @TaskHandler('b')
    b(_: unknown, ctx: TaskContext) {
      note(ctx);
    }
    @TaskHandler()
    other(_: unknown, ctx: TaskContext) {
      note(ctx);
    }
    @Subscriber('s')
    delivery(_: unknown, ctx: TaskContext) {
      note(ctx);
    }
  }
  return { order, Noting };
}

test('the highest priority runs first, then the oldest, then the lowest id, on one route', async () => {
  const { order, Noting } = orderOf();
  const { queue, worker } = await bench.start({ handlers: [Noting], concurrency: 1, autoStart: false });
  const old = new Date(Date.now() - 60_000);
  const older = new Date(Date.now() - 120_000);
  await queue.insertTask({ topic: 'a', externalKey: 'ten', priority: 10 });
  await queue.insertTask({ topic: 'a', externalKey: 'fifty', priority: 50 });
  await queue.insertTask({ topic: 'a', externalKey: 'hundred', priority: 100 });
  await queue.insertTask({ topic: 'a', externalKey: 'fifty old 1', runAt: old });
  await queue.insertTask({ topic: 'a', externalKey: 'fifty old 2', runAt: old });
  await queue.insertTask({ topic: 'a', externalKey: 'fifty older', runAt: older });
  await queue.insertTask({ topic: 'a', externalKey: 'minus', priority: -1, runAt: older });
  await worker.start();
  await until(async () => order.length === 7, 'all to run');
  expect(order).toEqual(['hundred', 'fifty older', 'fifty old 1', 'fifty old 2', 'fifty', 'ten', 'minus']);
});

test('the order holds across topics, subscriptions and topics without a handler of their own', async () => {
  const { order, Noting } = orderOf();
  const { queue, worker } = await bench.start({ handlers: [Noting], concurrency: 1, autoStart: false });
  // A first task without handler of its own makes the worker know that route before the race begins.
  const at = (seconds: number): Date => new Date(Date.now() - seconds * 1_000);
  await queue.insertTasks([
    { topic: 'b', externalKey: '6', runAt: at(40) },
    { topic: 'a', externalKey: '3', priority: 70 },
    { topic: 'elsewhere', externalKey: '2', priority: 80 },
    { topic: 'a', externalKey: '5', runAt: at(50) },
    { topic: null, externalKey: '4', runAt: at(60) },
    { topic: 'b', externalKey: '8', priority: 1 },
    { topic: 'elsewhere', externalKey: '7', runAt: at(30) },
  ]);
  const envelope = JSON.stringify({ publication: null, subscription: { id: 's' } });
  await bench.pool.query(
    `insert into tasks (processo, chave_externa, prioridade, payload, subscriber_id) values ('a', '1', 90, $1, 's')`,
    [envelope],
  );
  await worker.start();
  await until(async () => order.length === 8, 'all to run');
  expect(order).toEqual(['1', '2', '3', '4', '5', '6', '7', '8']);
});

test.each([1, 20, 150])(
  'with %i slots the order holds over many topics, of which few have most of the oldest',
  async (concurrency) => {
    const count = onPostgres ? 1_000 : 100;
    const { order, Noting } = orderOf();
    const { worker } = await bench.start({
      handlers: [Noting],
      concurrency,
      autoStart: false,
      pollIntervalMs: unlessTold,
    });
    // Of 60 topics the first ones have nearly all, and most of what is old; priorities differ too, one is made null by hand.
    await bench.pool.query(`insert into tasks (processo, chave_externa, prioridade, data_hora)
      select 'topic' || floor(60 * power(n * 7919 % 1000 / 1000.0, 4)), n, case when n % 97 = 0 then 60 else 50 end,
        now() - interval '30 days' + (n + case when n % 13 = 0 then 300 else 0 end) * interval '1 second'
      from generate_series(1, ${count}) n`);
    if (onPostgres) await bench.pool.query(`update tasks set prioridade = null where chave_externa = '500'`);
    const { rows } = await bench.pool.query<{ chave_externa: string }>(
      'select chave_externa from tasks order by prioridade desc, data_hora, id',
    );
    await worker.start();
    await until(async () => order.length === count, 'all to run');
    expect(order).toEqual(rows.map((row) => row.chave_externa));
  },
);

test('an urgent task of a new topic does not wait until the others have run', async () => {
  const order: string[] = [];
  class Endless {
    @TaskHandler('a')
    async a() {
      order.push('backlog');
      // There is always another one, until the urgent one has run.
      if (!order.includes('urgent')) await queue.insertTask({ topic: 'a' });
    }
    @TaskHandler()
    other() {
      order.push('urgent');
    }
  }
  const { queue, worker } = await bench.start({ handlers: [Endless], concurrency: 1, autoStart: false });
  await queue.insertTasks(Array.from({ length: 100 }, () => ({ topic: 'a' })));
  await worker.start();
  await until(async () => order.length > 10, 'the backlog to run');
  await queue.insertTask({ topic: 'new', priority: 100 });
  await until(async () => order.includes('urgent'), 'the urgent one to run');
  expect(order[0]).toBe('backlog');
});

/** Locks tasks in a session of its own, as a monitor, a backup script or a slow migration might. */
async function lockRows(...ids: string[]) {
  const client = await bench.connect();
  await client.query('begin');
  // MariaDB locks every row that it walks over in another index.
  const by = onPostgres ? '' : ' force index (primary)';
  await client.query(`select from tasks${by} where id = any($1::bigint[]) for update`, [ids]);
  return { release: () => client.query('rollback') };
}

test('a task locked by another session is skipped without waiting, and runs when it is free', async () => {
  const { order, Noting } = orderOf();
  const app = { handlers: [Noting], concurrency: 1, autoStart: false, pollIntervalMs: 100 };
  const { queue, worker } = await bench.start(app);
  const ids = await queue.insertTasks(
    ['1', '2', '3', '4'].map((externalKey) => ({ topic: 'a', externalKey })),
  );
  const lock = await lockRows(ids[0] ?? '', ids[1] ?? '');
  await worker.start();
  await until(async () => order.length >= 2, 'those that are free to run');
  expect(order).toEqual(['3', '4']);
  await lock.release();
  await until(async () => order.length === 4, 'the others to run');
  expect(order).toEqual(['3', '4', '1', '2']);
});

test('tasks of other topics go on when the best ones of all are locked', async () => {
  const { order, Noting } = orderOf();
  const app = { handlers: [Noting], concurrency: 2, autoStart: false, pollIntervalMs: 100 };
  const { queue, worker } = await bench.start(app);
  const ids = await queue.insertTasks([
    { topic: 'a', priority: 100, externalKey: 'locked 1' },
    { topic: 'a', priority: 99, externalKey: 'locked 2' },
    { topic: 'b', externalKey: 'b' },
    { topic: 'new', externalKey: 'new' },
  ]);
  const lock = await lockRows(ids[0] ?? '', ids[1] ?? '');
  await worker.start();
  await until(async () => order.length >= 2, 'the tasks of other topics to run', 5_000);
  expect(new Set(order)).toEqual(new Set(['b', 'new']));
  await lock.release();
  await until(async () => order.length === 4, 'the others to run');
  expect(order.slice(2)).toEqual(['locked 1', 'locked 2']);
});

test('a locked task does not hold up one that is inserted later', async () => {
  const { order, Noting } = orderOf();
  const { queue } = await bench.start({ handlers: [Noting], concurrency: 1 });
  const tx = await bench.connect();
  await tx.query('begin');
  await queue.insertTask({ topic: 'a', externalKey: 'not there yet' }, { tx: handleOf(tx) });
  await queue.insertTask({ topic: 'b', externalKey: 'committed' });
  await until(async () => order.length >= 1, 'the committed one to run');
  await tx.query('commit');
  await until(async () => order.length === 2, 'the other one to run');
  expect(order).toEqual(['committed', 'not there yet']);
});
