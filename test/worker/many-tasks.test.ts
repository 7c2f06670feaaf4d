import { afterEach, expect, test } from 'vitest';
import { useDatabase } from '../support/database.js';
import { startProxy } from '../support/database-proxy.js';
import { forkChild } from '../support/processes.js';
import { createQueue } from '../support/queue-app.js';

const database = await useDatabase();
await createQueue(database);

afterEach(() => database.pool.query('truncate tasks'));

/** What `test/support/children/drain.ts` found. */
interface Measured {
  /** The longest pause of the event loop, in processor time. */
  readonly longestMs: number;
  /** All of it. */
  readonly totalMs: number;
  readonly grownBytes: number;
}

async function drain(url: string, ...args: readonly string[]): Promise<Measured> {
  const child = forkChild('drain', { env: { DATABASE_URL: url }, args });
  const measured = await child.message('measured', 60_000);
  await child.kill('SIGKILL');
  return measured as unknown as Measured;
}

test('10,000 tasks are done without a pause of the event loop', async () => {
  await database.pool.query(
    `insert into tasks (processo, payload) select 'nothing', '{"n":1}' from generate_series(1, 10000)`,
  );
  const { longestMs, totalMs } = await drain(database.url, 'completed', '10000');
  // A pause that grows with the number of tasks is a large part of them all, on every machine.
  expect(longestMs).toBeLessThan(totalMs / 10);
  const { rowCount } = await database.pool.query(`select from tasks where status <> 'sucesso'`);
  expect(rowCount).toBe(0);
}, 90_000);

test('of 100,000 pending tasks a worker reads those that it has slots for', async () => {
  // 130 MB in all, too small to be compressed or stored apart.
  await database.pool.query(
    `insert into tasks (processo, payload) select 'never ends', repeat('x', 1300) from generate_series(1, 100000)`,
  );
  // The best of them are too large to travel with a claim.
  await database.pool.query(
    `insert into tasks (processo, payload, prioridade)
     select 'never ends', repeat('y', 1000000), 99 from generate_series(1, 50)`,
  );
  const proxy = await startProxy(database);
  const { grownBytes } = await drain(proxy.url, 'claimed', '10');
  const { rows } = await database.pool.query(
    `select count(*)::int as held, sum(length(payload))::int as bytes from tasks where status = 'processando'`,
  );
  expect(rows).toEqual([{ held: 10, bytes: 10_000_000 }]);
  expect(proxy.received).toBeLessThan(11_000_000);
  expect(grownBytes).toBeLessThan(100_000_000);
  await proxy.close();
}, 90_000);
