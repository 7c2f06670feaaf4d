import { afterAll, beforeAll, expect, test } from 'vitest';
import { mysqlConfig, ownSettings } from '../../../lib/storage/mysql/connections/mysql-config.js';
import { loadMysql2 } from '../../../lib/storage/mysql/connections/mysql-package.js';
import { OwnPool } from '../../../lib/storage/mysql/connections/own-pool.js';
import { endSession } from '../../../lib/storage/mysql/connections/session-place.js';
import { startMysqlCluster, type MysqlCluster } from '../../faults/kit/mysql-cluster.js';
import { holdTimers } from '../../support/held-timers.js';
import { mysqlStartMs } from '../../support/mysql.js';
import { until } from '../../support/waiting.js';

let server: MysqlCluster;
const pools: OwnPool[] = [];

beforeAll(async () => {
  server = await startMysqlCluster('mysql', ['performance-schema=OFF']);
}, mysqlStartMs);
afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.close()));
  await server.stop();
});

async function open(): Promise<OwnPool> {
  const pool = new OwnPool({
    mysql: await loadMysql2(),
    config: mysqlConfig(`${server.url}/mysql`),
    max: 1,
    settings: ownSettings,
  });
  pools.push(pool);
  return pool;
}

/** How long an answer may take, and what is added to it. */
const isLimit = (ms: number): boolean => ms === 30_000 || ms === 5_000;

test('a session is ended from another one', async () => {
  const [held, other] = [await (await open()).take(), await open()];
  expect((await held.ask('select @@performance_schema as it'))[0]?.rows).toEqual([{ it: '0' }]);
  const sleeping = held.ask('select sleep(600)').catch((error: unknown) => error);
  await other.use((run) => endSession(held.raw, run));
  expect(await sleeping).toMatchObject({ message: expect.stringMatching(/connection|killed/i) as unknown });
  held.destroy();
});

test('a statement that the server is at work on is waited for', async () => {
  const [holder, patient, looker] = [await open(), await open(), await open()];
  const held = await holder.take();
  await held.ask(`do get_lock('silent', 0)`);
  await patient.query('select 1');
  const timers = holdTimers(isLimit);
  const waiting = patient.query(`select get_lock('silent', 60) as got`);
  await until(async () => {
    const text = `select 1 from information_schema.processlist where info like '%silent%60%' and id <> connection_id()`;
    return (await looker.query(text)).rows.length === 1;
  }, 'the statement waits');
  timers.ringFirst();
  timers.ringFirst();
  await until(async () => timers.waiting === 1, 'it is waited for again');
  held.destroy();
  expect((await waiting).rows).toEqual([{ got: '1' }]);
});
