import { expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { connectionNames } from '../support/connections.js';
import { startProxy } from '../support/database-proxy.js';
import { subscribe } from '../support/subscriptions.js';
import { occupyThreadPool } from '../support/thread-pool.js';
import { deferred, until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

const bench = useQueue();

const poolSize = 2;

/** A worker with webhooks whose pool is held by handlers to its last connection, with slots left. */
async function startFull(url: string) {
  const end = deferred();
  const started: string[] = [];
  class Handlers {
    @TaskHandler('in transaction')
    async hold(_: unknown, { db }: TaskContext): Promise<void> {
      await db.query('select 1');
      started.push('in transaction');
      await end.promise;
    }
    @TaskHandler('plain')
    plain(): void {
      started.push('plain');
    }
    // Topics of any name have to be discovered before they are claimed.
    @TaskHandler()
    any(): void {
      started.push('any');
    }
  }
  const app = await bench.start({
    connection: url,
    handlers: [Handlers],
    poolSize,
    concurrency: 8,
    history: false,
    recovery: false,
    shutdownTimeoutMs: 1_000,
    webhooks: { allowedAddresses: ['127.0.0.1'] },
  });
  await subscribe(bench.database, [{ id: 'crm', url: 'http://127.0.0.1:9/hook' }]);
  const holding = Array.from({ length: poolSize }, () => ({ topic: 'in transaction' }));
  await bench.pool.query(
    `insert into tasks (processo) select t ->> 'topic' from json_array_elements($1::json) t`,
    [JSON.stringify(holding)],
  );
  await until(async () => started.length === poolSize, 'handlers hold the pool');
  return { ...app, end, started };
}

/** Pauses and resumes something: all workers ask again which routes wait. */
const pauseSomething = () => bench.pool.query(`select pg_notify('tasks', 'PAUSED')`);

/** Inserts by somebody else's connection: this process opens none for it. */
const insert = (topics: readonly string[]) =>
  bench.pool.query(`insert into tasks (processo) select unnest($1::text[])`, [topics]);

/** For a subscription that nobody here has heard of. */
const insertDelivery = () =>
  bench.pool.query(`insert into tasks (processo, subscriber_id) values ('order-placed', 'erp')`);

const deliveryIsClaimed = async () =>
  (await bench.pool.query(`select from tasks where subscriber_id = 'erp' and reserva > 0`)).rowCount === 1;

test('with webhooks on, tasks and deliveries are claimed while no connection can be opened: the thread pool is taken', async () => {
  const { end, started } = await startFull(bench.database.url.replace('127.0.0.1', 'localhost'));
  const before = await connectionNames(bench.database);
  const threads = occupyThreadPool();
  await pauseSomething();
  await insertDelivery();
  await insert(['plain', 'never seen']);
  await until(async () => started.includes('plain') && started.includes('any'), 'both run');
  await until(deliveryIsClaimed, 'the delivery is claimed');
  expect(await connectionNames(bench.database)).toEqual(before);
  await threads.release();
  end.resolve();
});

test('with webhooks on, the claim cycle opens no connection and waits for none where the server lets nobody in', async () => {
  const proxy = await startProxy(bench.database);
  const { end, started, close } = await startFull(proxy.url);
  const before = proxy.count();
  const stalled = proxy.stall('spare');
  await pauseSomething();
  await insertDelivery();
  await insert(['plain', 'never seen']);
  await until(async () => started.includes('plain') && started.includes('any'), 'both run');
  await until(deliveryIsClaimed, 'the delivery is claimed');
  expect(proxy.count()).toBe(before);
  expect(stalled.hits.connections).toBe(0);
  stalled.lift();
  end.resolve();
  await close();
  await proxy.close();
});
