import { Inject, Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  InjectQueue,
  QueueAdmin,
  QueueClient,
  QueueModule,
  QueueWorker,
  type SqlHandle,
  TaskHandler,
  type TaskContext,
} from '../../lib/index.js';
import { QueueTester, withoutDatabase, type WithoutDatabaseOptions } from '../../lib/testing/index.js';
import { Shop } from './shop.js';
import { describeTester } from './tester-suite.js';

class Ledger {
  @TaskHandler('book')
  async book(_amount: string, { db }: TaskContext): Promise<void> {
    await db.query('insert into booking values (1)');
  }

  @TaskHandler('swallow')
  async swallow(_amount: string, { db }: TaskContext): Promise<void> {
    await db.query('insert into nowhere values (1)').catch(() => undefined);
  }

  @TaskHandler('client')
  async client(_amount: string, ctx: TaskContext): Promise<void> {
    await ctx.client();
  }

  @TaskHandler('elsewhere')
  async elsewhere(_amount: string, ctx: TaskContext): Promise<void> {
    await ctx.completeIn({ query: async () => ({ rows: [] }) }, 'in a transaction of its own');
  }

  @TaskHandler('grouped', { grouped: true })
  async grouped(_amount: string, { db }: TaskContext): Promise<void> {
    await db.query('select 1');
  }
}

let module: TestingModule;
let tester: QueueTester;

/** No server is there: whoever opened a connection would fail. */
const nowhere = 'postgres://nobody@127.0.0.1:1/nowhere';

async function start(options: WithoutDatabaseOptions = {}): Promise<void> {
  const builder = Test.createTestingModule({
    imports: [QueueModule.forRoot({ connection: nowhere, queue: 'tasks', maxAttempts: 2 })],
    providers: [Shop, Ledger],
  });
  module = await withoutDatabase(builder, options).compile();
  module.useLogger(false);
  await module.init();
  tester = QueueTester.of(module);
}

beforeEach(() => start());

afterEach(async () => {
  vi.useRealTimers();
  await module.close();
});

describe('without a database', () => {
  describeTester(() => ({ tester, queue: module.get(QueueClient), shop: module.get(Shop) }));
});

test('what only a database can show is an error that says so', async () => {
  const needed = { code: 'DATABASE_NEEDED' };
  expect((await tester.run({ topic: 'book' })).thrown).toMatchObject(needed);
  expect((await tester.run({ topic: 'client' })).thrown).toMatchObject(needed);
  await expect(module.get(QueueWorker, { strict: false }).start()).rejects.toMatchObject(needed);
});

test('it takes the place of an embedded server where that would be refused', async () => {
  vi.stubEnv('NODE_ENV', 'production');
  try {
    const builder = Test.createTestingModule({
      imports: [QueueModule.forRoot({ connection: 'embedded', queue: 'tasks' })],
      providers: [Shop],
    });
    const built = await withoutDatabase(builder).compile();
    built.useLogger(false);
    await built.init();
    const { task } = await QueueTester.of(built).run({ topic: 'send-receipt', payload: { id: 1 } });
    expect(task.status).toBe('succeeded');
    await built.close();
  } finally {
    vi.unstubAllEnvs();
  }
});

test('history gets older as time moves, so that the purge finds it', async () => {
  await tester.run({ topic: 'send-receipt', payload: { id: 1 } });
  const admin = module.get(QueueAdmin, { strict: false });
  expect(await admin.purge()).toBe(0);
  await tester.travel({ days: 61 });
  expect(await admin.purge()).toBe(1);
  expect(await tester.inserted()).toEqual([]);
});

test('an operator finds a lost task, retries it and sees what became of it', async () => {
  const admin = module.get(QueueAdmin, { strict: false });
  const id = await module.get(QueueClient).insertTask({ topic: 'book' });
  await tester.drain({ travel: true });
  const [lost] = (await admin.list({ buried: true })).tasks;
  expect(lost).toMatchObject({ firstAttemptId: id, status: 'failed', attempt: 2 });
  await admin.pause({ topic: 'book' });
  await admin.retry(id);
  await tester.drain({ travel: true });
  expect(await admin.counts()).toContainEqual({
    topic: 'book',
    subscriptionId: null,
    status: 'pending',
    count: 1,
  });
  await admin.resume({ topic: 'book' });
  await tester.drain({ travel: true });
  expect(await admin.waitFor(id)).toMatchObject({ status: 'failed', attempt: 2 });
  expect((await admin.find(id)).attempts).toHaveLength(4);
  expect(await admin.delete(id)).toBeGreaterThan(4);
  await expect(admin.find(id)).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
});

test('subscriptions are administrated, and decide who gets a publication', async () => {
  const { subscriptions } = module.get(QueueAdmin, { strict: false });
  await subscriptions.add({ id: 'search-index', topic: 'order-placed', tenant: 7 });
  const queue = module.get(QueueClient);
  const published = { topic: 'order-placed', payload: { id: 1 } };
  await queue.insertTaskPubSub({ ...published, tenant: 8 });
  await queue.insertTaskPubSub({ ...published, tenant: 7 });
  const runs = await tester.drain();
  expect(runs.map(({ task }) => task.message)).toEqual([
    'discarded: no active subscription matches',
    'delivered to 1 subscription',
    'completed',
  ]);
  expect(await subscriptions.list()).toMatchObject([{ id: 'search-index', tenant: '7' }]);
});

test('a failed statement that the handler swallows breaks its transaction, as in a database', async () => {
  await module.close();
  await start({ db: { query: () => Promise.reject(new Error('there is no such table')) } });
  const { task, thrown } = await tester.run({ topic: 'swallow' });
  expect(thrown).toMatchObject({ code: 'TRANSACTION_BROKEN' });
  expect(task).toMatchObject({
    status: 'failed',
    message: expect.stringContaining('there is no such table'),
  });
});

test('a stand-in for the database gets the statements of handlers', async () => {
  await module.close();
  const query = vi.fn<SqlHandle['query']>(async () => ({ rows: [] }));
  await start({ db: { query } });
  expect((await tester.run({ topic: 'book' })).task.status).toBe('succeeded');
  expect((await tester.run({ topic: 'grouped' })).task.status).toBe('succeeded');
  expect(query.mock.calls).toEqual([
    ['insert into booking values (1)', undefined],
    ['select 1', undefined],
  ]);
});

test('a task can be completed in a transaction of its own, whatever that is', async () => {
  const { task } = await tester.run({ topic: 'elsewhere' });
  expect(task).toMatchObject({ status: 'succeeded', message: 'in a transaction of its own' });
});

test('a transaction makes no difference: what is inserted in it is there, and stays', async () => {
  const tx = { query: async () => ({ rows: [] }) };
  await module.get(QueueClient).insertTask({ topic: 'send-receipt' }, { tx });
  const found = await tester.expectInserted({ topic: 'send-receipt' }, { tx });
  expect(found.status).toBe('pending');
});

test("a fake clock of the test runner is the queue's", async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-01-01T10:00:00Z') });
  await module
    .get(QueueClient)
    .insertTask({ topic: 'send-receipt', payload: { id: 1 }, runAt: '2026-01-02T00:00:00Z' });
  expect(await tester.drain()).toEqual([]);
  vi.setSystemTime('2026-01-02T00:00:00Z');
  expect(await tester.drain()).toMatchObject([{ task: { finishedAt: new Date('2026-01-02T00:00:00Z') } }]);
});

test('several queues, some of them without a database', async () => {
  @Injectable()
  class Billing {
    readonly seen: unknown[] = [];
    constructor(
      @InjectQueue('billing') readonly billing: QueueClient,
      @Inject(QueueClient) readonly main: QueueClient,
    ) {}
    @TaskHandler('invoice', { queue: 'billing' })
    invoice(payload: unknown): void {
      this.seen.push(payload);
    }
  }
  const builder = Test.createTestingModule({
    imports: [
      QueueModule.forRoot({ connection: nowhere, queue: 'tasks' }),
      QueueModule.forRootAsync({
        name: 'billing',
        useFactory: () => ({ connection: nowhere, queue: 'invoices' }),
      }),
    ],
    providers: [Billing],
  });
  const app = await withoutDatabase(withoutDatabase(builder), { queue: 'billing' }).compile();
  app.useLogger(false);
  await app.init();
  const billing = app.get(Billing);
  await billing.billing.insertTask({ topic: 'invoice', payload: { n: 1 } });
  await billing.main.insertTask({ topic: 'other' });
  expect(await QueueTester.of(app, 'billing').drain()).toHaveLength(1);
  expect(billing.seen).toEqual([{ n: 1 }]);
  expect((await QueueTester.of(app).inserted()).map(({ topic }) => topic)).toEqual(['other']);
  await app.close();
});
