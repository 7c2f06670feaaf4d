import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { QueueClient, Subscriber, type TaskContext } from '../../lib/index.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { startApp } from '../support/queue-app.js';
import { until } from '../support/waiting.js';
import { sqlUnder } from './documents.js';

@Injectable()
class Handlers {
  @Subscriber('stock', { maxAttempts: 1 })
  async reserve(_payload: unknown, { db }: TaskContext): Promise<void> {
    await db.query('select 1');
    throw new Error('so that a dead task is inserted as well');
  }
}

const suffix = randomBytes(4).toString('hex');
const producer = `shop_producer_${suffix}`;
const worker = `shop_worker_${suffix}`;
let database: TestDatabase;

/** The two roles of the guide; roles belong to the whole server, so they get names of their own. */
beforeAll(async () => {
  database = await createDatabase();
  const maker = await startApp(database, { queue: 'shop_queue', worker: false });
  await maker.close();
  const [grants = ''] = sqlUnder('docs/guides/deployment.md', 'Tables and roles');
  await database.pool.query(grants.replaceAll('shop_producer', producer).replaceAll('shop_worker', worker));
  await database.pool.query(
    `alter role ${producer} login password 'p'; alter role ${worker} login password 'w'`,
  );
  await database.pool.query(
    "insert into shop_queue_subscriber (id, processo) values ('stock', 'order-placed')",
  );
});

afterAll(async () => {
  await database.pool.query(`drop owned by ${producer}, ${worker}; drop role ${producer}, ${worker}`);
  await database.drop();
});

test('the roles of the deployment guide have all that they need, and the producer no more', async () => {
  const app = await startApp(
    { url: as(worker, 'w') },
    { queue: 'shop_queue', schema: 'check', handlers: [Handlers] },
  );
  const client = new Client({ connectionString: as(producer, 'p') });
  await client.connect();
  try {
    const queue = new QueueClient(client, { table: 'shop_queue' });
    await queue.insertTaskPubSub({ topic: 'order-placed', externalKey: 'k', payload: '{}' });
    // While it is being delivered it is equivalent to none.
    await until(async () => {
      const equivalent = await queue.listEquivalentTask({
        topic: 'order-placed',
        externalKey: 'k',
        payload: '{}',
      });
      return equivalent.length === 1;
    }, 'the delivered publication is found');
    await expect(client.query('delete from shop_queue')).rejects.toThrow('permission denied');
    await until(async () => {
      const { rows } = await database.pool.query(
        "select 1 from shop_queue_tasks where is_dead and status = 'succeeded'",
      );
      return rows.length === 1;
    }, 'the dead task ran');
    for (const routine of [app.retry, app.notify, app.purge]) expect(await routine.run()).toBe(0);
  } finally {
    await client.end();
    await app.close();
  }
  const { rows } = await database.pool.query('select stopped_at from shop_queue_worker');
  expect(rows).toEqual([{ stopped_at: expect.any(Date) as Date }]);
});

function as(role: string, password: string): string {
  const url = new URL(database.url);
  url.username = role;
  url.password = password;
  return url.href;
}
