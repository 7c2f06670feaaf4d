import { Test, type TestingModule } from '@nestjs/testing';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  QueueAdmin,
  QueueClient,
  QueueModule,
  QueueWorker,
  TaskHandler,
  type QueueOptions,
  type TaskContext,
} from '../../lib/index.js';
import { QueueTester, withTester } from '../../lib/testing/index.js';
import { connectTo, handleOf, useDatabase } from '../support/database.js';
import { Shop } from './shop.js';
import { describeTester } from './tester-suite.js';
import { onPostgres, ownSql } from '../support/run-database.js';

class Ledger {
  @TaskHandler('book')
  async book(amount: string, { db }: TaskContext): Promise<void> {
    await db.query(ownSql('insert into booking values ($1)'), [amount]);
    if (amount === '13') throw new Error('not that one');
  }
}

class Billing {
  @TaskHandler('bill', { queue: 'billing' })
  bill(): string {
    return 'billed';
  }
}

const database = await useDatabase();
await database.pool.query('create table booking (amount int)');
let module: TestingModule;
let tester: QueueTester;
let queue: QueueClient;
let shop: Shop;

async function start(options: { autoStart?: boolean; worker?: boolean } = {}): Promise<TestingModule> {
  const compiled = await Test.createTestingModule({
    imports: [
      QueueModule.forRoot({
        connection: database.url,
        queue: 'tasks',
        autoStart: false,
        maxAttempts: 2,
        ...options,
      }),
    ],
    providers: [Shop, Ledger],
  }).compile();
  compiled.useLogger(false);
  return compiled.init();
}

beforeEach(async () => {
  module = await start();
  tester = QueueTester.of(module);
  [queue, shop] = [module.get(QueueClient), module.get(Shop)];
  await tester.clear();
  await database.pool.query('truncate booking, tasks_subscriber');
});

afterEach(() => module.close());

describe('with a database', () => {
  describeTester(() => ({ tester, queue, shop }));
});

test('a drain runs what is due in order, with what that inserts and publishes', async () => {
  await tester.subscribe('order-placed', 'search-index');
  await tester.subscribe('order-placed', 'search-index');
  await queue.insertTask({ topic: 'place-order', payload: { id: 4 } });
  await queue.insertTask({ topic: 'send-receipt', payload: { id: 5 }, delayMs: 3_600_000 });
  const runs = await tester.drain();
  expect(runs.map(({ task }) => [task.topic, task.message])).toEqual([
    ['place-order', 'placed'],
    ['send-receipt', 'completed'],
    ['order-placed', 'delivered to 1 subscription'],
    ['order-placed', 'completed'],
  ]);
  expect(shop.seen).toEqual(['receipt 4, attempt 1', 'index 4 for search-index of order-placed']);
  await tester.travel({ minutes: 59 });
  expect(await tester.drain()).toEqual([]);
  await tester.travel({ minutes: 1 });
  expect(await tester.drain()).toMatchObject([{ task: { topic: 'send-receipt', status: 'succeeded' } }]);
  // A dead letter and a delivery were made by the queue.
  expect((await tester.inserted()).map(({ topic }) => topic)).toEqual([
    'place-order',
    'send-receipt',
    'send-receipt',
    'order-placed',
  ]);
});

test('with time moved forward a task has all its attempts and its dead handler', async () => {
  const id = await queue.insertTask({ topic: 'busy' });
  const runs = await tester.drain({ travel: true });
  expect(runs.map(({ task }) => [task.attempt, task.dead, task.status])).toEqual([
    [1, false, 'failed'],
    [2, false, 'failed'],
    [3, false, 'failed'],
    [1, true, 'succeeded'],
  ]);
  expect(shop.seen).toEqual(['busy 1', 'busy 2', 'busy 3', 'dead of busy, key 32']);
  expect(runs.at(-1)?.task.liveId).toBe(id);
});

test('a time of the handler is travelled to', async () => {
  const date = new Date(Date.now() + 86_400_000).toISOString();
  await queue.insertTask({ topic: 'tomorrow', payload: date });
  expect(await tester.drain()).toMatchObject([{ task: { status: 'failed', nextAttemptAt: new Date(date) } }]);
  await tester.travel({ hours: 23 });
  expect(await tester.drain()).toEqual([]);
  await tester.travel({ hours: 1, seconds: 1 });
  await tester.drain();
  expect(shop.seen).toEqual(['tomorrow 2']);
});

test('a drain stops where it is told to, and says where it cannot get', async () => {
  const id = await queue.insertTask({ topic: 'busy' });
  await tester.drain({ until: { id, status: 'scheduled' } });
  expect(shop.seen).toEqual(['busy 1']);
  await expect(tester.drain({ until: { id, status: 'failed' } })).rejects.toThrow(
    new RegExp(`task ${id} is scheduled, not failed: it is due later, so pass travel: true`),
  );
  await tester.drain({ until: { id, status: 'failed' }, travel: true });
  expect(shop.seen).toEqual(['busy 1', 'busy 2', 'busy 3']);
  await expect(tester.drain({ until: { id: '9999', status: 'failed' } })).rejects.toThrow(
    /task 9999 not found/,
  );
});

test('tasks that insert themselves are found out', async () => {
  await queue.insertTask({ topic: 'endless' });
  await expect(tester.drain({ most: 20 })).rejects.toThrow(/20 attempts ran and there are more/);
});

test('an insert is seen inside its transaction before the commit, and not after a rollback', async () => {
  const client = await connectTo(database);
  await client.query('begin');
  await queue.insertTask({ topic: 'send-receipt', payload: { id: 1 } }, { tx: handleOf(client) });
  await tester.expectInserted({ topic: 'send-receipt' }, { tx: handleOf(client) });
  expect(await tester.inserted()).toEqual([]);
  await client.query('rollback');
  await client.end();
  expect(await tester.inserted()).toEqual([]);
});

test('what a handler writes commits with its success, and is undone when it fails', async () => {
  expect((await tester.run({ topic: 'book', payload: '12' })).task.status).toBe('succeeded');
  expect((await tester.run({ topic: 'book', payload: '13' })).task.status).toBe('failed');
  expect((await database.pool.query('select * from booking')).rows).toEqual([{ amount: 12 }]);
});

test('history gets older as time moves, so that the purge finds it', async () => {
  const admin = module.get(QueueAdmin);
  await tester.run({ topic: 'send-receipt', payload: { id: 1 } });
  expect(await admin.purge()).toBe(0);
  await tester.travel({ days: 61 });
  expect(await admin.purge()).toBe(1);
});

test('a task keeps its key however time moves', async () => {
  const keys: string[] = [];
  shop.busy = (_payload, { task }) => {
    keys.push(task.key);
    throw new Error('busy');
  };
  await queue.insertTask({ topic: 'busy' });
  await tester.drain({ travel: true });
  expect(new Set(keys).size).toBe(1);
  expect(keys).toHaveLength(3);
});

test('what is paused is not run', async () => {
  const admin = module.get(QueueAdmin);
  await admin.pause({ topic: 'send-receipt' });
  await queue.insertTask({ topic: 'send-receipt', payload: { id: 1 } });
  expect(await tester.drain()).toEqual([]);
  await admin.resume({ topic: 'send-receipt' });
  expect(await tester.drain()).toHaveLength(1);
});

test.each([
  { worker: false, problem: /only produces/ },
  { autoStart: true, problem: /has a worker that is running/ },
])('an application that would get in the way is refused: $problem', async ({ problem, ...options }) => {
  const other = await start(options);
  const of = QueueTester.of(other);
  await expect(of.inserted()).resolves.toEqual([]);
  await expect(of.drain()).rejects.toThrow(problem);
  await other.close();
});

describe('an application as it is', () => {
  /** Its worker would start, in a database that is not there. */
  const elsewhere = {
    connection: 'postgres://nobody@127.0.0.1:1/nowhere',
    ...(onPostgres && { sessionConnection: 'postgres://nobody@127.0.0.1:1/nowhere' }),
    queue: 'production',
  };
  const ofTest = (): QueueOptions => ({ connection: database.url, queue: 'tasks' });

  test('is driven by a tester, on the database of the test', async () => {
    const builder = Test.createTestingModule({
      imports: [QueueModule.forRoot(elsewhere)],
      providers: [Shop, Ledger],
    });
    const whole = await withTester(builder, ofTest()).compile();
    whole.useLogger(false);
    await whole.init();
    onTestFinished(() => whole.close());
    expect(whole.get(QueueWorker).state).toBe('idle');
    const { task } = await QueueTester.of(whole).run({ topic: 'book', payload: '12' });
    expect(task.status).toBe('succeeded');
    expect((await database.pool.query('select amount from booking')).rows).toEqual([{ amount: 12 }]);
  });

  test('has each of its queues driven by name, also where it only produces', async () => {
    const builder = Test.createTestingModule({
      imports: [
        QueueModule.forRoot({ ...ofTest(), autoStart: false }),
        QueueModule.forRootAsync({ name: 'billing', useFactory: () => ({ ...elsewhere, worker: false }) }),
      ],
      providers: [Shop, Billing],
    });
    const whole = await withTester(builder, { ...ofTest(), queue: 'billing' }, 'billing').compile();
    whole.useLogger(false);
    await whole.init();
    onTestFinished(() => whole.close());
    const { task } = await QueueTester.of(whole, 'billing').run({ topic: 'bill' });
    expect(task).toMatchObject({ message: 'billed', status: 'succeeded' });
    expect(await QueueTester.of(whole).inserted()).toEqual([]);
  });
});
