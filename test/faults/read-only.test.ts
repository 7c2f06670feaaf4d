import { afterAll, beforeAll, expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { leaveEffect } from '../support/leave-effect.js';
import { LogLines } from '../support/log-lines.js';
import { startApp, type QueueApp } from '../support/queue-app.js';
import { until } from '../support/waiting.js';
import { createEffectTable } from '../support/worker-process.js';
import { startCluster, type Cluster, type ClusterDatabase } from './kit/cluster.js';
import { cutConnections } from './kit/cut.js';
import { allOnce, drained } from './kit/outcome.js';
import { perSecond } from './kit/rate.js';

let cluster: Cluster;
let database: ClusterDatabase;
let app: QueueApp;
const log = new LogLines();

class Handlers {
  @TaskHandler('effect', { retryDelayMs: 50 })
  async effect(_: unknown, ctx: TaskContext): Promise<void> {
    await leaveEffect(ctx);
  }

  @TaskHandler('batch')
  batch(): void {}
}

beforeAll(async () => {
  cluster = await startCluster();
  database = await cluster.createDatabase();
  await createEffectTable(database);
  app = await startApp(database, { handlers: [Handlers], logger: log, pollIntervalMs: 200 });
});

afterAll(async () => {
  await app.close();
  await cluster.stop();
});

async function setReadOnly(value: 'on' | 'off'): Promise<void> {
  const name = new URL(database.url).pathname.slice(1);
  await cluster.run(`alter database ${name} set default_transaction_read_only = ${value}`);
}

/** As by an administrator, whose session is his own business. */
async function insert(count: number): Promise<void> {
  const client = await database.pool.connect();
  await client.query('set default_transaction_read_only = off');
  await client.query(
    `insert into tasks (processo, payload)
     select case when n % 2 = 0 then 'effect' else 'batch' end, '{}' from generate_series(1, $1::int) n`,
    [count],
  );
  client.release(true);
}

const refusals = async (): Promise<number> =>
  (await cluster.log()).split('in a read-only transaction').length - 1;

test('a database that turns read-only, as a standby or a full one does: callers are told, workers wait, and all goes on afterwards', async () => {
  await insert(10);
  expect(await drained(database.pool)).toEqual(allOnce(5, 5));

  await setReadOnly('on');
  expect(await cutConnections(database.pool)).toBeGreaterThan(2);
  await insert(10);
  await until(async () => log.of('error').some((line) => line.includes('read-only')), 'the worker says so');
  await expect(app.queue.insertTask({ topic: 'batch' })).rejects.toMatchObject({ code: '25006' });
  // It is rung for and polls, and yet does not try all the time.
  expect(await perSecond(refusals)).toBeLessThan(5);
  expect(log.of('error').filter((line) => line.includes('hit a database error'))).toHaveLength(1);

  // Nobody cuts the connections that are read-only.
  await setReadOnly('off');
  expect(await drained(database.pool)).toEqual(allOnce(10, 10));
  await app.queue.insertTask({ topic: 'effect' });
  expect(await drained(database.pool)).toEqual(allOnce(11, 10));
  await until(
    async () => log.of('log').some((line) => /worker \d+ recovered/.test(line)),
    'the worker says so',
  );
  expect(log.of('log').filter((line) => /worker \d+ recovered/.test(line))).toHaveLength(1);
}, 60_000);
