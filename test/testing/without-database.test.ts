import {
  Inject,
  Injectable,
  UseGuards,
  UsePipes,
  type ExecutionContext,
  type OnApplicationShutdown,
} from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import {
  InjectQueue,
  QueueAdmin,
  QueueClient,
  QueueEvents,
  QueueModule,
  QueueWorker,
  Recurring,
  Subscriber,
  TaskHandler,
  type TaskContext,
} from '../../lib/index.js';
import { QueueTester, withoutDatabase } from '../../lib/testing/index.js';
import { Shop } from './shop.js';
import { describeTester } from './tester-suite.js';

/** What a whole application also has: it begins and ends with the module, and puts parts of Nest around its handlers. */
@Injectable()
class Ledger implements OnApplicationShutdown {
  static ended = 0;

  constructor(
    readonly admin: QueueAdmin,
    readonly queue: QueueClient,
  ) {}

  onApplicationShutdown(): void {
    Ledger.ended += 1;
  }

  @TaskHandler('book')
  async book(_amount: string, { db }: TaskContext): Promise<void> {
    await db.query('insert into booking values (1)');
  }

  @TaskHandler('swallow', { grouped: true })
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

  @TaskHandler('idle', { grouped: true })
  idle(_payload: unknown, ctx: TaskContext): string {
    ctx.progress(0.5);
    return `did without ${typeof ctx.db.query}`;
  }

  @TaskHandler('close', { schema: z.object({ day: z.string() }) })
  @Recurring('nightly', { cron: '0 2 * * *', task: { payload: { day: 'yesterday' } } })
  close({ day }: { day: string }): string {
    return `closed ${day}`;
  }

  @TaskHandler('guarded')
  @UseGuards({ canActivate: (context: ExecutionContext) => context.switchToRpc().getData() !== 'forbidden' })
  @UsePipes({ transform: (value: unknown) => (typeof value === 'string' ? value.toUpperCase() : value) })
  guarded(who: string): string {
    return `let ${who} in`;
  }

  @Subscriber('invoices', { topic: 'order-placed' })
  invoice(_order: unknown, { subscription }: TaskContext): string {
    return `invoice for ${subscription?.topic}`;
  }
}

let module: TestingModule;
let tester: QueueTester;

/** No server is there: whoever opened a connection would fail. */
const nowhere = 'postgres://nobody@127.0.0.1:1/nowhere';
const needed = { code: 'DATABASE_NEEDED', message: expect.stringContaining("connection: 'embedded'") };

beforeEach(async () => {
  const builder = Test.createTestingModule({
    imports: [QueueModule.forRoot({ connection: nowhere, queue: 'tasks', maxAttempts: 2 })],
    providers: [Shop, Ledger],
  });
  module = await withoutDatabase(builder).compile();
  module.useLogger(false);
  await module.init();
  tester = QueueTester.of(module);
});

afterEach(() => module.close());

describe('without a database', () => {
  describeTester(() => ({ tester, queue: module.get(QueueClient), shop: module.get(Shop) }));
});

test.each(['book', 'swallow', 'client', 'elsewhere'])(
  'a handler that needs a database fails, even one that swallows that: %s',
  async (topic) => {
    const { task, thrown } = await tester.run({ topic });
    expect(thrown).toMatchObject(needed);
    expect(task).toMatchObject({ status: 'failed', retried: true });
  },
);

test('whatever else needs a database says so', async () => {
  const { admin, queue } = module.get(Ledger);
  const id = await queue.insertTask({ topic: 'send-receipt', payload: { id: 1 } });
  await expect(tester.drain()).rejects.toMatchObject(needed);
  await expect(tester.travel({ days: 1 })).rejects.toMatchObject(needed);
  await expect(tester.subscribe('order-placed', 'invoices')).rejects.toMatchObject(needed);
  await expect(admin.find(id)).rejects.toMatchObject(needed);
  await expect(admin.list()).rejects.toMatchObject(needed);
  await expect(admin.waitFor(id)).rejects.toMatchObject(needed);
  await expect(admin.purge()).rejects.toMatchObject(needed);
  await expect(admin.pause({ topic: 'book' })).rejects.toMatchObject(needed);
  await expect(admin.schedules.list()).rejects.toMatchObject(needed);
  await expect(admin.subscriptions.list()).rejects.toMatchObject(needed);
  await expect(module.get(QueueWorker).start()).rejects.toMatchObject(needed);
});

test('a handler runs with what Nest puts around it, and its end is told', async () => {
  const ended: unknown[] = [];
  module.get(QueueEvents).on('task.completed', ({ message }) => ended.push(message));
  expect((await tester.run({ topic: 'close', payload: { day: 'today' } })).task.message).toBe('closed today');
  expect((await tester.run({ topic: 'close', payload: { day: 7 } })).thrown).toMatchObject({
    code: 'PAYLOAD_INVALID',
  });
  expect((await tester.run({ topic: 'guarded', payload: 'forbidden' })).thrown).toMatchObject({
    code: 'HANDLER_REFUSED',
  });
  expect((await tester.run({ topic: 'guarded', payload: 'ana' })).task.message).toBe('let ANA in');
  expect((await tester.run({ topic: 'idle' })).task.message).toBe('did without function');
  expect(ended).toEqual(['closed today', 'let ANA in', 'did without function']);
});

test('a delivery has the topic that its method declares', async () => {
  const { task } = await tester.deliver('invoices', { payload: { id: 1 } });
  expect(task).toMatchObject({ topic: 'order-placed', message: 'invoice for order-placed' });
  expect(await tester.inserted()).toEqual([]);
});

test('a transaction makes no difference: what is inserted in it is there, and stays', async () => {
  const tx = { query: async () => ({ rows: [] }) };
  await module.get(QueueClient).insertTask({ topic: 'send-receipt' }, { tx });
  const found = await tester.expectInserted({ topic: 'send-receipt' }, { tx });
  expect(found.status).toBe('pending');
  await tester.clear();
  expect(await tester.inserted()).toEqual([]);
});

test('when a task is due is kept as it was given', async () => {
  const runAt = '2100-01-02T00:00:00Z';
  await module.get(QueueClient).insertTasks([
    { topic: 'send-receipt', payload: { id: 1 }, runAt },
    { topic: 'send-receipt', payload: { id: 2 }, delayMs: 3_600_000 },
  ]);
  const [at, later] = await tester.inserted();
  expect(at).toMatchObject({ status: 'scheduled', dueAt: new Date(runAt) });
  expect(later?.dueAt.getTime()).toBeGreaterThan(Date.now() + 3_000_000);
});

test('it begins and ends as any application, also where an embedded server would be refused', async () => {
  vi.stubEnv('NODE_ENV', 'production');
  try {
    const builder = Test.createTestingModule({
      imports: [QueueModule.forRoot({ connection: 'embedded', queue: 'tasks' })],
      providers: [Shop, Ledger],
    });
    const built = await withoutDatabase(builder).compile();
    built.useLogger(false);
    await built.init();
    const { task } = await QueueTester.of(built).run({ topic: 'send-receipt', payload: { id: 1 } });
    expect(task.status).toBe('succeeded');
    const before = Ledger.ended;
    await built.close();
    expect(Ledger.ended).toBe(before + 1);
  } finally {
    vi.unstubAllEnvs();
  }
});

test('several queues, some of them without a database', async () => {
  @Injectable()
  class Billing {
    constructor(
      @InjectQueue('billing') readonly billing: QueueClient,
      @Inject(QueueClient) readonly main: QueueClient,
    ) {}
    @TaskHandler('invoice', { queue: 'billing' })
    invoice({ n }: { n: number }): string {
      return `invoice ${n}`;
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
  const { billing, main } = app.get(Billing);
  await billing.insertTask({ topic: 'invoice', payload: { n: 1 } });
  await main.insertTask({ topic: 'other' });
  const { task } = await QueueTester.of(app, 'billing').run({ topic: 'invoice', payload: { n: 2 } });
  expect(task.message).toBe('invoice 2');
  expect(await QueueTester.of(app, 'billing').inserted()).toHaveLength(2);
  expect((await QueueTester.of(app).inserted()).map(({ topic }) => topic)).toEqual(['other']);
  await app.close();
});
