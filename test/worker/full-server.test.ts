import { randomBytes } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { DeadTaskHandler, TaskHandler, type TaskContext } from '../../lib/index.js';
import { LogLines } from '../support/log-lines.js';
import { deferred, until } from '../support/waiting.js';
import { useQueue } from './queue-bench.js';

const bench = useQueue();
const role = `limited_${randomBytes(6).toString('hex')}`;
let connection: string;

beforeAll(async () => {
  await bench.pool.query(
    `create role ${role} login password 'secret'; grant create on schema public to ${role}`,
  );
  const address = new URL(bench.database.url);
  address.username = role;
  address.password = 'secret';
  connection = address.href;
});

/** As a server is that other processes have filled. */
const allow = (connections: number): Promise<unknown> =>
  bench.pool.query(`alter role ${role} connection limit ${connections}`);

const notOnce = async (): Promise<number> => {
  const { rows } = await bench.pool.query(
    `select count(*)::int as n from tasks where status <> 'sucesso' or tentativa > 1`,
  );
  return rows[0]?.n;
};

let dead = 0;
class Handlers {
  @TaskHandler('work', { maxAttempts: 2, retryDelayMs: 10 })
  async work(_: unknown, { db }: TaskContext): Promise<void> {
    await db.query('select pg_sleep(0.01)');
  }
  @DeadTaskHandler('work')
  dead(): void {
    dead += 1;
  }
}

const [holding, end] = [deferred(), deferred()];
class Holder {
  @TaskHandler('hold')
  async hold(_: unknown, { db }: TaskContext): Promise<void> {
    await db.query('select 1');
    holding.resolve();
    await end.promise;
  }
}

test('a server that has no room for a whole pool: no attempt fails, no insert is refused, and a line says so', async () => {
  // One for the session, one that claims, and one for handlers and inserts.
  await allow(3);
  const logger = new LogLines();
  const { queue } = await bench.start({
    connection,
    handlers: [Handlers],
    poolSize: 10,
    concurrency: 10,
    logger,
  });
  await queue.insertTasks(Array.from({ length: 50 }, () => ({ topic: 'work' })));
  const ids = await Promise.all(Array.from({ length: 20 }, () => queue.insertTask({ topic: 'work' })));
  expect(new Set(ids).size).toBe(20);
  await until(async () => (await notOnce()) === 0, 'all have succeeded at their first attempt');
  expect(dead).toBe(0);
  const { rows } = await bench.pool.query('select count(*)::int as n from tasks');
  expect(rows).toEqual([{ n: 70 }]);
  expect(logger.of('warn').filter((line) => line.includes('could not be opened'))).toHaveLength(1);
});

test('handlers that hold all there is: an insert waits for one of them to end', async () => {
  await allow(3);
  const { queue } = await bench.start({ connection, handlers: [Holder], poolSize: 1 });
  const id = await queue.insertTask({ topic: 'hold' });
  await holding.promise;
  const inserting = queue.insertTask({ topic: 'work' });
  end.resolve();
  expect(await inserting).not.toBe(id);
});

test('a process that only produces: inserts share the one connection that it gets', async () => {
  await allow(1);
  const { queue } = await bench.start({ connection, worker: false, poolSize: 10 });
  const ids = await Promise.all(Array.from({ length: 20 }, () => queue.insertTask({ topic: 'work' })));
  expect(new Set(ids).size).toBe(20);
});
