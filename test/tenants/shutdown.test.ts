import { createServer } from 'node:net';
import { Test } from '@nestjs/testing';
import { expect, test, vi } from 'vitest';
import {
  DeadSubscriber,
  QueueModule,
  QueueWorker,
  TenantDatabases,
  type TaskContext,
} from '../../lib/index.js';
import { QueueTester, withoutDatabase } from '../../lib/testing/index.js';
import { connectionNames } from '../support/connections.js';
import { subscribe } from '../support/subscriptions.js';
import { deferred, until } from '../support/waiting.js';
import { serve } from '../webhooks/kit/receivers.js';
import { useQueue } from '../worker/queue-bench.js';
import { TenantWork } from './kit/tenant-work.js';
import { useTenants } from './kit/tenants.js';

const bench = useQueue();
const tenantOf = useTenants('1', '2');
const resolve = (id: string) => ({ ...tenantOf(id).config });
const oneTry = { handlers: [TenantWork], retryIntervalMinutes: 0, maxAttempts: 1 } as const;
const noted = async (ctx: TaskContext): Promise<string> => {
  const db = await ctx.tenantDb();
  await db.query('insert into note values ($1)', [`of ${db.tenant}`]);
  return 'noted';
};

test('at shutdown handlers end first, then the tenants’ connections, then those of the queue', async () => {
  const { queue, app, close } = await bench.start({ ...oneTry, tenantDatabases: { resolve } });
  const [running, goOn] = [deferred(), deferred()];
  TenantWork.work = async (ctx) => {
    running.resolve();
    await goOn.promise;
    await ctx.db.query('select 1');
    return noted(ctx);
  };
  const id = await queue.insertTask({ topic: 'work', tenant: 1 });
  await running.promise;
  const tenants = app.get(TenantDatabases, { strict: false });
  const worker = app.get(QueueWorker, { strict: false });
  const order: string[] = [];
  const closeTenants = tenants.close.bind(tenants);
  vi.spyOn(tenants, 'close').mockImplementation(async () => {
    order.push(`tenants, worker ${worker.state}, ${(await connectionNames(bench.database)).length > 0}`);
    await closeTenants();
    // The server takes a moment to end a session that was told to.
    await until(async () => (await tenantOf('1').connections()) === 0, 'its connections end');
    order.push(`tenants closed, ${(await connectionNames(bench.database)).length > 0}`);
  });
  const closing = close();
  await until(async () => worker.state === 'stopping', 'the worker stops');
  goOn.resolve();
  await closing;
  expect(order).toEqual(['tenants, worker stopped, true', 'tenants closed, true']);
  expect(await bench.row(id)).toMatchObject({ status: 'sucesso', mensagem: 'noted' });
  expect(await tenantOf('1').notes()).toEqual(['of 1']);
});

test('a handler that does not end at shutdown loses its connection', async () => {
  const { queue, close } = await bench.start({
    ...oneTry,
    tenantDatabases: { resolve },
    shutdownTimeoutMs: 50,
  });
  const running = deferred();
  TenantWork.work = async (ctx) => {
    const db = await ctx.tenantDb();
    await db.query('select 1');
    running.resolve();
    return db.query('select pg_sleep(60)');
  };
  await queue.insertTask({ topic: 'work', tenant: 1 });
  await running.promise;
  await close();
  expect(await until(async () => (await tenantOf('1').connections()) === 0, 'it is closed')).toBe(true);
});

test('a tenant whose database hangs fails its own tasks only', async () => {
  const silent = await serve(createServer(() => undefined));
  const { queue, events } = await bench.start({
    ...oneTry,
    concurrency: 5,
    tenantDatabases: {
      connectTimeoutMs: 1_050,
      resolve: (id) => ({ ...tenantOf('2').config, ...(id === '1' ? { port: silent.port } : {}) }),
    },
  });
  const failed: unknown[] = [];
  events.on('tenant.failed', (event) => failed.push(event));
  TenantWork.work = noted;
  const hung = await queue.insertTasks(Array.from({ length: 50 }, () => ({ topic: 'work', tenant: 1 })));
  const healthy = await queue.insertTasks(Array.from({ length: 50 }, () => ({ topic: 'work', tenant: 2 })));
  for (const id of healthy) expect(await bench.ended(id)).toMatchObject({ status: 'sucesso' });
  for (const id of hung) {
    expect(await bench.ended(id)).toMatchObject({
      status: 'falha',
      mensagem: expect.stringContaining('tenant 1 cannot be used: no connection within 1050 ms'),
    });
  }
  // Fifty tasks waited for one timeout together, and were told once.
  expect(silent.sockets.length).toBeLessThanOrEqual(5);
  expect(failed).toEqual([{ tenant: '1', message: expect.stringContaining('no connection within') }]);
});

test('a dead handler of a webhook has it as well', async () => {
  const dead = deferred<string>();
  class Handlers {
    @DeadSubscriber('crm')
    async gaveUp(_payload: unknown, ctx: TaskContext): Promise<void> {
      dead.resolve(await noted(ctx));
    }
  }
  const { queue } = await bench.start({
    ...oneTry,
    handlers: [Handlers],
    webhooks: { allowedAddresses: ['127.0.0.1'] },
    tenantDatabases: { resolve },
  });
  await subscribe(bench.database, [{ id: 'crm', url: 'http://127.0.0.1:1/hook', http_method: 'POST' }]);
  await queue.insertTaskWebhook({ topic: 'order-placed', tenant: 1, payload: {} });
  expect(await dead.promise).toBe('noted');
  expect(await tenantOf('1').notes()).toEqual(['of 1']);
});

test('without a database a tenant has none either, and says so', async () => {
  const builder = Test.createTestingModule({
    imports: [
      QueueModule.forRoot({
        connection: 'postgres://nobody@127.0.0.1:1/nowhere',
        queue: 'tasks',
        maxAttempts: 1,
        tenantDatabases: { resolve },
      }),
    ],
    providers: [TenantWork],
  });
  const module = await withoutDatabase(builder).compile();
  module.useLogger(false);
  await module.init();
  TenantWork.work = noted;
  const { thrown } = await QueueTester.of(module).run({ topic: 'work', tenant: 1 });
  expect(thrown).toMatchObject({ code: 'DATABASE_NEEDED' });
  await module.close();
});

test('a tester with a database runs handlers with those of their tenants', async () => {
  const { app } = await bench.start({ ...oneTry, autoStart: false, tenantDatabases: { resolve } });
  TenantWork.work = noted;
  const { task } = await QueueTester.of(app).run({ topic: 'work', tenant: 2 });
  expect(task).toMatchObject({ status: 'succeeded', message: 'noted' });
  expect(await tenantOf('2').notes()).toEqual(['of 2']);
});
