import { Injectable, Module } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { afterEach, expect, test } from 'vitest';
import {
  getQueueToken,
  PurgeRoutine,
  QueueClient,
  QueueEvents,
  QueueModule,
  TaskHandler,
  type QueueOptions,
} from '../../lib/index.js';
import { useDatabase } from '../support/database.js';
import { nextEvent } from '../support/waiting.js';

@Injectable()
class Handlers {
  @TaskHandler('send-receipt')
  send(): never {
    throw new Error('the mail server is busy');
  }
}

@Module({ providers: [Handlers] })
class OrdersModule {}

const database = await useDatabase();
let application: TestingModule | undefined;

afterEach(() => application?.close());

test('without a worker a test sees what was inserted, and nothing happens to it', async () => {
  const { queue } = await start({ worker: false });
  await queue.insertTask({ topic: 'send-receipt', externalKey: 'order-1' });
  const { rows } = await database.pool.query('select topic, external_key, status from shop_queue_tasks');
  expect(rows).toEqual([{ topic: 'send-receipt', external_key: 'order-1', status: 'pending' }]);
});

test('with the options for tests a task is dead without waiting, and a routine runs when it is told to', async () => {
  const { module, queue, events } = await start({
    retryIntervalMinutes: 0,
    maxAttempts: 2,
    shutdownTimeoutMs: 1_000,
    retryMinutes: [],
    notifyMinutes: [],
    purgeMinutes: [],
  });
  const buried = nextEvent(events, 'task.buried', ({ task }) => task.attempt === 2);
  await queue.insertTask({ topic: 'send-receipt' });
  await buried;
  const purge = module.get<PurgeRoutine>(getQueueToken('default', PurgeRoutine), { strict: false });
  expect(await purge.run()).toBe(0);
});

async function start(
  options: QueueOptions,
): Promise<{ module: TestingModule; queue: QueueClient; events: QueueEvents }> {
  application = await Test.createTestingModule({
    imports: [
      OrdersModule,
      QueueModule.forRoot({ connection: database.url, queue: 'shop_queue', ...options }),
    ],
  }).compile();
  application.useLogger(false);
  await application.init();
  return { module: application, queue: application.get(QueueClient), events: application.get(QueueEvents) };
}
