import { AsyncLocalStorage } from 'node:async_hooks';
import { Global, Inject, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClsPluginTransactional, Transactional, TransactionHost } from '@nestjs-cls/transactional';
import { TransactionalAdapterTypeOrm } from '@nestjs-cls/transactional-adapter-typeorm';
import { ClsModule } from 'nestjs-cls';
import { DataSource } from 'typeorm';
import { afterAll, afterEach, expect, test } from 'vitest';
import { fromTypeOrm, QueueClient, QueueModule, type SqlHandle } from '../../lib/index.js';
import { useDatabase } from '../support/database.js';
import { startApp } from '../support/queue-app.js';
import { withClient } from '../support/with-client.js';

const database = await useDatabase();
const dataSource = await new DataSource({ type: 'postgres', url: database.url }).initialize();
await database.pool.query('create table orders (id int)');

afterEach(async () => {
  await database.pool.query('truncate orders; truncate tasks');
});

afterAll(() => dataSource.destroy());

const stored = async (): Promise<unknown> =>
  (
    await database.pool.query(
      'select (select count(*)::int from orders) as orders, (select count(*)::int from tasks) as tasks',
    )
  ).rows[0];

@Injectable()
class OrderService {
  constructor(
    @Inject(TransactionHost) private readonly host: TransactionHost<TransactionalAdapterTypeOrm>,
    @Inject(QueueClient) private readonly queue: QueueClient,
  ) {}

  @Transactional()
  async place(fails: boolean): Promise<void> {
    await this.host.tx.query('insert into orders values (1)');
    await this.queue.insertTask({ topic: 'placed' });
    await this.queue.insertTasks([{ topic: 'a' }, { topic: 'b' }]);
    await this.queue.insertTaskPubSub({ topic: 'placed' });
    if (fails) throw new Error('no');
  }

  async note(): Promise<void> {
    await this.queue.insertTask({ topic: 'alone' });
  }
}

@Global()
@Module({ providers: [{ provide: DataSource, useValue: dataSource }], exports: [DataSource] })
class DatabaseModule {}

test('the ambient transaction of @nestjs-cls/transactional takes the tasks along, or nothing is there', async () => {
  @Module({
    imports: [
      DatabaseModule,
      ClsModule.forRoot({
        global: true,
        plugins: [
          new ClsPluginTransactional({
            adapter: new TransactionalAdapterTypeOrm({ dataSourceToken: DataSource }),
          }),
        ],
      }),
      QueueModule.forRootAsync({
        inject: [TransactionHost],
        useFactory: (host: TransactionHost<TransactionalAdapterTypeOrm>) => ({
          connection: database.url,
          queue: 'tasks',
          worker: false,
          transaction: () => (host.isTransactionActive() ? fromTypeOrm(host.tx) : undefined),
        }),
      }),
    ],
    providers: [OrderService],
  })
  class AppModule {}
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  const orders = app.get(OrderService);
  await expect(orders.place(true)).rejects.toThrow('no');
  expect(await stored()).toEqual({ orders: 0, tasks: 0 });
  await orders.place(false);
  expect(await stored()).toEqual({ orders: 1, tasks: 4 });
  await orders.note();
  expect(await stored()).toEqual({ orders: 1, tasks: 5 });
  await app.close();
});

test('tx goes before the ambient transaction, also for what is looked up', async () => {
  const ambient = new AsyncLocalStorage<SqlHandle>();
  const { queue, close } = await startApp(database, {
    worker: false,
    transaction: () => ambient.getStore(),
  });
  const task = { topic: 'a', externalKey: 'k', payload: 'p' };
  await withClient(database, async (outer) =>
    withClient(database, async (inner) => {
      await outer.query('begin');
      await inner.query('begin');
      await ambient.run(outer, async () => {
        await queue.insertTask(task);
        expect(await queue.listEquivalentTask(task)).toHaveLength(1);
        expect(await queue.listEquivalentTask(task, { tx: inner })).toHaveLength(0);
        await queue.insertTask(task, { tx: inner });
      });
      await outer.query('rollback');
      await inner.query('commit');
    }),
  );
  expect(await stored()).toEqual({ orders: 0, tasks: 1 });
  await close();
});
