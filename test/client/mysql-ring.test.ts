import { createPool } from 'mysql2/promise';
import { afterAll, expect, test } from 'vitest';
import { assembleCore, type QueueCore } from '../../lib/assembly/core.js';
import { resolveOptions } from '../../lib/assembly/resolve-options.js';
import { fromMysql2 } from '../../lib/client/adapters/mysql2.js';
import { QueueEvents } from '../../lib/events.js';
import { useMysqlDatabase } from '../support/mysql.js';
import { until } from '../support/waiting.js';

const database = await useMysqlDatabase('mariadb');
const opened: QueueCore[] = [];

afterAll(async () => {
  for (const core of opened) await core.close();
});

async function open(worker: boolean): Promise<QueueCore> {
  const options = resolveOptions({ connection: database.url, queue: 'tasks', worker }, {});
  const core = await assembleCore(options, new QueueEvents());
  opened.push(core);
  return core;
}

test('a transaction of the application wakes workers of other processes by a ring after its commit', async () => {
  const [listener, producer] = [await open(true), await open(false)];
  let heard = 0;
  await listener.storage.bell.listen('tasks', () => (heard += 1));
  const pool = createPool(database.url);
  try {
    const connection = await pool.getConnection();
    await connection.beginTransaction();
    await producer.client.insertTask({ topic: 'a' }, { tx: fromMysql2(connection) });
    await connection.commit();
    connection.release();
    expect(heard).toBe(0);
    await producer.client.ring();
    await until(async () => heard > 0, 'it is woken');
  } finally {
    await pool.end();
  }
});
