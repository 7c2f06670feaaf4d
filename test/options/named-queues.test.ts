import {
  Controller,
  Injectable,
  Module,
  Scope,
  type DynamicModule,
  type INestApplicationContext,
  type ModuleMetadata,
  type Provider,
} from '@nestjs/common';
import { ModuleRef, NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { afterEach, expect, test } from 'vitest';
import {
  DeadTaskHandler,
  getQueueToken,
  InjectQueue,
  PurgeRoutine,
  QueueClient,
  QueueEvents,
  QueueModule,
  QueueWorker,
  Subscriber,
  TaskHandler,
  type QueueModuleOptions,
  type TaskContext,
} from '../../lib/index.js';
import { allClosed, connectionsAre } from '../support/connections.js';
import { useDatabase } from '../support/database.js';
import { withoutRoutines } from '../support/queue-app.js';
import { deferred, nextEvent, until } from '../support/waiting.js';

const database = await useDatabase();
const other = await useDatabase();
const { pool } = database;
const apps: INestApplicationContext[] = [];

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
  await Promise.all([allClosed(database), allClosed(other)]);
});

@Module({})
class HandlersModule {}

@Module({})
class AppModule {}

async function boot(
  imports: readonly DynamicModule[],
  providers: Provider[] = [],
): Promise<INestApplicationContext> {
  const handlers: DynamicModule = { module: HandlersModule, providers, exports: providers };
  const app = await NestFactory.createApplicationContext(
    { module: AppModule, imports: [handlers, ...imports] },
    { logger: false, abortOnError: false },
  );
  apps.push(app);
  return app;
}

const ordersQueue = (options: QueueModuleOptions = {}): DynamicModule =>
  QueueModule.forRoot({
    connection: database.url,
    queue: 'orders',
    poolSize: 1,
    pollIntervalMs: 0,
    ...withoutRoutines,
    ...options,
  });

const billingQueue = (options: QueueModuleOptions = {}): DynamicModule =>
  ordersQueue({ name: 'billing', queue: 'billing', ...options });

const calls: string[] = [];

class Handlers {
  @TaskHandler('charge')
  chargeOrders(payload: string, { task }: TaskContext): void {
    calls.push(`orders ${task.id} ${payload}`);
  }

  @TaskHandler('charge', { queue: 'billing', maxAttempts: 1 })
  chargeBilling(payload: string, { task }: TaskContext): void {
    calls.push(`billing ${task.id} ${payload}`);
    if (payload === 'broken') throw new Error('no funds');
  }

  @DeadTaskHandler('charge', { queue: 'billing' })
  unpaid(payload: string): void {
    calls.push(`unpaid ${payload}`);
  }

  @Subscriber('mail', { queue: 'billing' })
  mail(payload: string): void {
    calls.push(`mail ${payload}`);
  }
}

test('two queues of one application have their own tables, channels and handlers', async () => {
  calls.length = 0;
  const app = await boot([ordersQueue(), billingQueue()], [Handlers]);
  const clients = [app.get(QueueClient), app.get<QueueClient>(getQueueToken('billing'))] as const;
  expect(
    await Promise.all(clients.map((client) => client.insertTask({ topic: 'charge', payload: 'a' }))),
  ).toEqual(['1', '1']);
  await pool.query(`insert into billing_subscriber (id, processo) values ('mail', 'billed')`);
  await pool.query(`insert into billing (processo, payload, pub_sub) values ('billed', 'letter', true)`);
  await clients[1].insertTask({ topic: 'charge', payload: 'broken' });
  await until(async () => calls.length === 5, 'five calls');
  expect([...calls].sort()).toEqual([
    'billing 1 a',
    expect.stringMatching(/^billing \d+ broken$/),
    'mail letter',
    'orders 1 a',
    'unpaid broken',
  ]);
  expect((await pool.query('select from orders')).rowCount).toBe(1);
});

test('each has its own worker, events and routines', async () => {
  const app = await boot([ordersQueue(), billingQueue({ purgeMaxAgeDays: 1 })], [Handlers]);
  const part = <T>(name: string | undefined, type: new (...never: never[]) => T): T =>
    app.get<T>(getQueueToken<T>(name, type as never), { strict: false });
  const [first, second] = [part(undefined, QueueWorker), part('billing', QueueWorker)];
  expect(first).not.toBe(second);
  const completed = nextEvent(part('billing', QueueEvents), 'task.completed');
  part(undefined, QueueEvents).on('task.completed', () => calls.push('wrong stream'));
  await pool.query(`insert into billing (processo, payload) values ('charge', 'b')`);
  expect(await completed).toMatchObject({ task: { topic: 'charge' } });
  expect(calls).not.toContain('wrong stream');
  for (const table of ['orders', 'billing']) {
    await pool.query(
      `insert into ${table} (status, data_hora) values ('sucesso', now() - interval '2 days')`,
    );
  }
  // At the same time: the lock of one is not the lock of the other.
  expect(
    await Promise.all([part(undefined, PurgeRoutine).run(), part('billing', PurgeRoutine).run()]),
  ).toEqual([0, 1]);
});

test('they share one session where they share a database, and have two where not', async () => {
  await boot([ordersQueue(), billingQueue()]);
  expect(
    await connectionsAre(database, [
      'tarefa billing control',
      'tarefa billing pool',
      'tarefa orders control',
      'tarefa orders pool',
      'tarefa session',
    ]),
  ).toBe(true);
  await apps.pop()?.close();
  await allClosed(database);
  await boot([ordersQueue(), billingQueue({ connection: other.url })]);
  expect(
    await connectionsAre(database, ['tarefa orders control', 'tarefa orders pool', 'tarefa session']),
  ).toBe(true);
  expect(
    await connectionsAre(other, ['tarefa billing control', 'tarefa billing pool', 'tarefa session']),
  ).toBe(true);
});

test('the session stays for the other queue when one stops', async () => {
  const app = await boot([ordersQueue(), billingQueue()], [Handlers]);
  await app.get(QueueWorker, { strict: false }).stop();
  const completed = nextEvent(app.get<QueueEvents>(getQueueToken('billing', QueueEvents)), 'task.completed');
  await pool.query(`insert into billing (processo, payload) values ('charge', 'c')`);
  expect(await completed).toMatchObject({ task: { topic: 'charge' } });
});

test('@InjectQueue gives the client of the queue it names', async () => {
  @Injectable()
  class Producer {
    constructor(
      readonly orders: QueueClient,
      @InjectQueue() readonly alsoOrders: QueueClient,
      @InjectQueue('billing') readonly billing: QueueClient,
    ) {}
  }
  const app = await boot([ordersQueue({ worker: false }), billingQueue({ worker: false })], [Producer]);
  const producer = app.get(Producer, { strict: false });
  expect(producer.alsoOrders).toBe(producer.orders);
  expect(producer.billing).not.toBe(producer.orders);
  const before = await pool.query('select from billing');
  await producer.billing.insertTask({ topic: 'nobody' });
  expect((await pool.query('select from billing')).rowCount).toBe((before.rowCount ?? 0) + 1);
});

test('one id may have a handler in each queue, but not two in one', async () => {
  class Twice {
    @TaskHandler('charge', { queue: 'billing' })
    again(): void {}
  }
  await expect(boot([ordersQueue(), billingQueue()], [Handlers, Twice])).rejects.toMatchObject({
    code: 'HANDLER_INVALID',
    message: expect.stringMatching(
      /@TaskHandler\('charge'\) is declared twice: Handlers\.chargeBilling and Twice\.again/,
    ),
  });
});

test('a handler for a queue that the application does not have is a boot error', async () => {
  await expect(boot([ordersQueue()], [Handlers])).rejects.toMatchObject({
    code: 'HANDLER_INVALID',
    message: expect.stringMatching(
      /^Handlers\.\w+ is for the queue 'billing', but the application has only 'default'/,
    ),
  });
  class Unnamed {
    @TaskHandler('charge')
    charge(): void {}
  }
  await expect(boot([billingQueue()], [Unnamed])).rejects.toMatchObject({
    code: 'HANDLER_INVALID',
    message: expect.stringMatching(
      /^Unnamed\.charge is for the queue 'default', but the application has only 'billing'/,
    ),
  });
});

test.each([
  ['default', (): DynamicModule[] => [ordersQueue(), ordersQueue({ queue: 'invoices' })]],
  ['default', (): DynamicModule[] => [ordersQueue(), ordersQueue()]],
  ['billing', (): DynamicModule[] => [ordersQueue(), billingQueue(), billingQueue({ queue: 'invoices' })]],
  [
    'billing',
    (): DynamicModule[] => [
      billingQueue(),
      QueueModule.forRootAsync({ name: 'billing', useFactory: () => ({}) }),
    ],
  ],
])('two queues named %s are a boot error, and nothing stays open', async (name, modules) => {
  await expect(boot(modules())).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
    message: expect.stringContaining(`the application imports 2 queues named '${name}'`),
  });
});

test('a queue that cannot connect keeps nothing of the others open', async () => {
  const nowhere = billingQueue({ connection: 'postgres://127.0.0.1:1/nowhere', connectRetryMs: 0 });
  await expect(boot([ordersQueue(), nowhere])).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' });
  await expect(boot([nowhere, ordersQueue()])).rejects.toMatchObject({
    code: 'DATABASE_UNREACHABLE',
  });
});

const broken = (): never => {
  throw new Error('no printer');
};

@Injectable()
class Broken {
  readonly printer: unknown = broken();
}

@Controller()
class BrokenController {
  readonly printer: unknown = broken();
}

test.each<[how: string, parts: Pick<ModuleMetadata, 'providers' | 'controllers'>]>([
  ['a class throws', { providers: [Broken] }],
  ['a factory throws', { providers: [{ provide: 'printer', useFactory: broken }] }],
  [
    'a factory rejects when the queue is open',
    { providers: [{ provide: 'printer', inject: [QueueClient], useFactory: async () => broken() }] },
  ],
  ['a controller throws', { controllers: [BrokenController] }],
])('an application that cannot be made keeps no queue open: %s', async (_how, parts) => {
  @Module(parts)
  class BrokenModule {}
  const modules = [{ module: BrokenModule }, ordersQueue(), billingQueue()];
  await expect(boot(modules)).rejects.toThrow('no printer');
  const compiled = Test.createTestingModule({ imports: modules }).compile();
  await expect(compiled).rejects.toThrow('no printer');
  expect(await Promise.all([allClosed(database), allClosed(other)])).toEqual([true, true]);
});

test('an application whose slow and scoped parts can be made keeps its queues', async () => {
  @Injectable({ scope: Scope.REQUEST })
  class PerRequest {
    readonly printer: unknown = broken();
  }
  @Injectable({ scope: Scope.TRANSIENT })
  class Transient {}
  const opened = deferred();
  const slow = {
    provide: 'slow',
    inject: [Transient],
    useFactory: async () => opened.promise.then(() => null),
  };
  const asked = {
    provide: 'asked',
    inject: [ModuleRef, QueueClient],
    useFactory: async (ref: ModuleRef) => {
      await expect(ref.resolve(PerRequest)).rejects.toThrow('no printer');
      opened.resolve();
      return undefined;
    },
  };
  const app = await boot([ordersQueue()], [PerRequest, Transient, slow, asked]);
  const id = await app.get(QueueClient).insertTask({ topic: 'x' });
  expect(id).toMatch(/^\d+$/);
});

test('one queue may be imported by several modules', async () => {
  const shared = ordersQueue();
  @Module({ imports: [shared] })
  class OneModule {}
  @Module({ imports: [shared] })
  class OtherModule {}
  await boot([{ module: OneModule }, { module: OtherModule }]);
  const once = ['tarefa orders control', 'tarefa orders pool', 'tarefa session'];
  expect(await connectionsAre(database, once)).toBe(true);
});
