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
  await tester.clear();
  await database.pool.query('truncate booking, tasks_subscriber');
});

afterEach(() => module.close());

describe('with a database', () => {
  describeTester(() => ({ tester, queue: module.get(QueueClient), shop: module.get(Shop) }));
});

test('an insert is seen inside its transaction before the commit, and not after a rollback', async () => {
  const queue = module.get(QueueClient);
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
  const shop = module.get(Shop);
  shop.busy = (_payload, { task }) => {
    keys.push(task.key);
    throw new Error('busy');
  };
  await module.get(QueueClient).insertTask({ topic: 'busy' });
  await tester.drain({ travel: true });
  expect(new Set(keys).size).toBe(1);
  expect(keys).toHaveLength(3);
});

test('what is paused is not run', async () => {
  const admin = module.get(QueueAdmin);
  await admin.pause({ topic: 'send-receipt' });
  await module.get(QueueClient).insertTask({ topic: 'send-receipt', payload: { id: 1 } });
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
