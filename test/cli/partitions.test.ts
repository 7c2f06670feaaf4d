import { expect, test } from 'vitest';
import { useDatabase } from '../support/database.js';
import { createQueue, startApp } from '../support/queue-app.js';
import { runCli } from './support.js';

const database = await useDatabase();
const { pool } = database;
const url = ['--url', database.url];

async function partitionsOf(table: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ bounds: string }>(
    `select pg_get_expr(c.relpartbound, c.oid) as bounds from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = to_regclass($1) order by 1`,
    [table],
  );
  return rows.map(({ bounds }) => bounds);
}

test('db-gen prints a queue in partitions, on which applications start, and may be run again', async () => {
  const { code, stdout } = await runCli(['db-gen', 'made', 'orders', '--partitioned', '--every', '500']);
  expect(code).toBe(0);
  await pool.query(stdout);
  await pool.query('drop table made.orders_p1');
  await pool.query(stdout);
  // What was purged does not come back.
  expect(await partitionsOf('made.orders')).toEqual(['DEFAULT', `FOR VALUES FROM ('500') TO ('1000')`]);
  const { queue, close } = await startApp(database, {
    table: 'made.orders',
    queue: 'orders',
    schema: 'check',
  });
  expect(await queue.insertTask({ topic: 'greet' })).toBe('1');
  await close();
});

test('migrate --partition says what it would do, does it, and has nothing to do then', async () => {
  await createQueue(database, { layout: 'plain' });
  const migrate = (...args: string[]) =>
    runCli(['migrate', '--table', 'tasks', '--queue', 'tasks', ...url, ...args]);
  const plan = await migrate('--partition', '--every', '500', '--plan');
  expect(plan).toMatchObject({ code: 0, stdout: expect.stringContaining('ACCESS EXCLUSIVE') as string });
  expect(await partitionsOf('tasks')).toEqual([]);
  expect(await migrate('--partition', '--every', '500')).toMatchObject({ code: 0 });
  expect(await partitionsOf('tasks')).toHaveLength(4);
  expect(await migrate('--check')).toMatchObject({ code: 0 });
  expect(await migrate('--partition')).toMatchObject({ code: 0 });
});

test.each([
  [['migrate', '--every', '500'], '--every requires --partition'],
  [['migrate', '--partition', '--every', '5'], '--every must be a whole number from 10'],
  [['db-gen', 'public', 'orders', '--every', '500'], '--every requires --partitioned'],
])('%j is a mistake', async (args, message) => {
  const { code, stderr } = await runCli([...args, ...(args[0] === 'migrate' ? url : [])]);
  expect({ code, stderr }).toEqual({
    code: expect.any(Number) as number,
    stderr: expect.stringContaining(message) as string,
  });
  expect(code).not.toBe(0);
});
