import { Client, Pool, TypeOverrides, types } from 'pg';
import { afterEach, expect, test } from 'vitest';
import { QueueClient, type SqlHandle } from '../../lib/index.js';
import { useDatabase } from '../support/database.js';
import { useApp } from '../support/queue-app.js';
import { withClient } from '../support/with-client.js';

const database = await useDatabase();
const { pool } = database;
const { queue } = await useApp(database, { table: 'shop.Tasks', worker: false });
const table = 'shop.Tasks';

afterEach(() => pool.query('delete from shop."Tasks"'));

const stored = async (): Promise<readonly string[]> =>
  (await pool.query<{ id: string }>('select id from shop."Tasks" order by id')).rows.map(({ id }) => id);

/** Every call of the client, through the handle. */
async function useAll(client: QueueClient, tx?: SqlHandle): Promise<readonly string[]> {
  const options = tx && { tx };
  const ids = [
    await client.insertTask({ topic: 'a', payload: 'p', externalKey: 'k' }, options),
    ...(await client.insertTasks([{ topic: 'b' }, { topic: 'c' }], options)),
    await client.insertTaskPubSub({ topic: 'd' }, options),
    await client.insertTaskWebhook({ topic: 'e' }, options),
  ];
  const equal = await client.listEquivalentTask({ topic: 'a', payload: 'p', externalKey: 'k' }, options);
  expect(equal.at(-1)?.id).toBe(ids[0]);
  return ids;
}

test('a pool, a client of it and a client of its own are handles', async () => {
  const own = new Client({ connectionString: database.url });
  await own.connect();
  await withClient(database, async (pooled) => {
    for (const handle of [pool, own, pooled]) {
      expect(await useAll(new QueueClient(handle, { table }))).toEqual((await stored()).slice(-5));
    }
    for (const handle of [own, pooled]) {
      await handle.query('begin');
      const ids = await useAll(queue, handle);
      await handle.query('commit');
      expect(ids).toEqual((await stored()).slice(-5));
    }
  });
  expect(await stored()).toHaveLength(25);
  await own.end();
});

test('a pool, and a client that has not begun, are refused as the transaction of an insert', async () => {
  await withClient(database, async (client) => {
    for (const tx of [pool, client]) {
      await expect(queue.insertTask({ topic: 'a' }, { tx })).rejects.toMatchObject({
        code: 'INPUT_INVALID',
        message: expect.stringContaining('a transaction is required') as unknown,
      });
    }
    // Sent in one go: what the client knows of its transaction is from before.
    const begun = client.query('begin');
    const inserted = queue.insertTask({ topic: 'a' }, { tx: client });
    await begun;
    await inserted;
    await client.query('rollback');
  });
  expect(await stored()).toEqual([]);
});

test('it begins, commits and rolls back nothing: one statement for each call', async () => {
  const statements: string[] = [];
  await withClient(database, async (client) => {
    const watched: SqlHandle = {
      query: (text, values) => {
        statements.push(text);
        return client.query(text, values);
      },
    };
    await client.query('begin');
    await useAll(new QueueClient(watched, { table }));
    await useAll(queue, watched);
    await client.query('rollback');
  });
  expect(statements).toHaveLength(10);
  for (const text of statements) {
    expect(text).not.toMatch(/\b(begin|commit|rollback|savepoint|start transaction|listen|lock)\b/i);
  }
  expect(await stored()).toEqual([]);
});

test('without tx the injected client commits alone, whatever the caller rolls back', async () => {
  const id = await withClient(database, async (client) => {
    await client.query('begin');
    const inserted = await queue.insertTask({ topic: 'a' });
    await client.query('rollback');
    return inserted;
  });
  expect(await stored()).toEqual([id]);
});

test.each([
  ['rollback', 0, 0],
  ['commit', 1, 5],
])('in one transaction tasks and rows of the caller end together: %s', async (end, orders, tasks) => {
  await pool.query('create table if not exists orders (id int)');
  await withClient(database, async (client) => {
    await client.query('begin');
    await client.query('insert into orders values (1)');
    await useAll(queue, client);
    await client.query(end);
  });
  expect((await pool.query('select from orders')).rowCount).toBe(orders);
  expect(await stored()).toHaveLength(tasks);
});

test('ids survive on connections that make numbers of them', async () => {
  const numbers = new TypeOverrides();
  numbers.setTypeParser(types.builtins.INT8, Number);
  const own = new Pool({ connectionString: database.url, types: numbers });
  await own.query(`select setval('shop."Tasks_id_seq"', 9007199254740992)`);
  const first = 9007199254740993n;
  const client = new QueueClient(own, { table });
  const ids = await useAll(client);
  expect(ids).toEqual([0n, 1n, 2n, 3n, 4n].map((offset) => String(first + offset)));
  const tenant = '9007199254740995';
  const task = { topic: 'a', externalKey: 'big', payload: 'p', tenant };
  await client.insertTask(task);
  const [equal] = await client.listEquivalentTask(task);
  expect(equal).toMatchObject({ id: String(first + 5n), firstAttemptId: String(first + 5n), tenant });
  await own.end();
});

test('a transaction of another library that was not wrapped is said', async () => {
  // As TypeORM answers: the rows alone.
  const manager = {
    query: async (text: string, values?: unknown[]) => (await pool.query(text, values)).rows,
  };
  const tx = manager as unknown as SqlHandle;
  for (const call of [queue.insertTask({}, { tx }), queue.insertTasks([{}], { tx })]) {
    await expect(call).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining(
        'wrap it with fromTypeOrm, fromPrisma, fromDrizzle or another adapter',
      ),
    });
  }
});

test('a table that is not there is the error of the database', async () => {
  await expect(new QueueClient(pool, { table: 'nowhere' }).insertTask({})).rejects.toMatchObject({
    code: '42P01',
  });
});
