import { Injectable } from '@nestjs/common';
import { expect, test } from 'vitest';
import { Subscriber } from '../../lib/index.js';
import { useDatabase } from '../support/database.js';
import { startApp } from '../support/queue-app.js';
import { nextEvent } from '../support/waiting.js';
import { sqlUnder } from './documents.js';

@Injectable()
class Handlers {
  @Subscriber('stock')
  reserve(): string {
    return 'reserved';
  }
}

const [script = ''] = sqlUnder('docs/reference/schema.md', 'Schema');
const database = await useDatabase();

test('the schema script makes a queue that starts with schema: check, and may be run again', async () => {
  await database.pool.query(script);
  await database.pool.query(script);
  await database.pool.query(
    "insert into shop_queue_subscriber (id, processo) values ('stock', 'order-placed')",
  );
  const app = await startApp(database, {
    queue: 'shop_queue',
    schema: 'check',
    handlers: [Handlers],
    pollIntervalMs: 0,
  });
  try {
    const completed = nextEvent(app.events, 'task.completed', ({ task }) => task.subscriptionId === 'stock');
    // From outside, so that it is the script's trigger that wakes the worker.
    await database.pool.query("insert into shop_queue (processo, pub_sub) values ('order-placed', true)");
    expect(await completed).toMatchObject({ message: 'reserved' });
  } finally {
    await app.close();
  }
});

test('without one of its statements the start names what is missing', async () => {
  await database.pool.query('drop view shop_queue_tasks; drop index shop_queue_successor');
  await expect(startApp(database, { queue: 'shop_queue', schema: 'check' })).rejects.toThrow(
    /missing index shop_queue_successor, view "public"."shop_queue_tasks"/,
  );
});
