import { createPool, type Pool, type RowDataPacket } from 'mysql2/promise';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { QueueAdmin, TaskHandler } from '../../lib/index.js';
import { livenessPrefix } from '../../lib/coordination/lock-names.js';
import { findSleepers } from '../../lib/storage/mysql/connections/sleeper-places.js';
import { lockName, sleeperPrefix } from '../../lib/storage/mysql/lock-name.js';
import { mysqlStartMs } from '../support/mysql.js';
import { startApp } from '../support/queue-app.js';
import { deferred, until } from '../support/waiting.js';
import { startSwitch, type AddressSwitch } from './kit/address-switch.js';
import { startMysqlCluster, type MysqlCluster } from './kit/mysql-cluster.js';

let servers: readonly [MysqlCluster, MysqlCluster];
let primary: Pool;
let standby: Pool;
let address: AddressSwitch;

beforeAll(async () => {
  servers = await Promise.all([start(1), start(2)]);
  const [from, to] = servers;
  [primary, standby] = [openPool(from), openPool(to)];
  // Whoever may do everything writes on a server that only reads as well.
  await primary.query(`create database shop; create user application@'127.0.0.1';
    grant all privileges on shop.* to application@'127.0.0.1'`);
  await standby.query(`change master to master_host = '127.0.0.1', master_port = ${from.port}, master_user = 'root',
    master_use_gtid = slave_pos; start slave; set global read_only = 1`);
  address = await startSwitch(from.port);
}, mysqlStartMs);

afterAll(async () => {
  address.close();
  await Promise.all([primary.end(), standby.end()]);
  await Promise.all(servers.map((server) => server.stop()));
});

function start(id: number): Promise<MysqlCluster> {
  return startMysqlCluster('mariadb', [
    'log-bin=log',
    'binlog-format=ROW',
    `server-id=${id}`,
    'log-bin-trust-function-creators=1',
  ]);
}

function openPool({ url }: MysqlCluster): Pool {
  return createPool({ uri: url, multipleStatements: true });
}

async function ask(pool: Pool, sql: string, values: unknown[] = []): Promise<RowDataPacket[]> {
  return (await pool.query<RowDataPacket[]>(sql, values))[0];
}

/** The servers swap roles as an operator has them do, and nobody's connection is cut. */
async function failOver(): Promise<void> {
  await primary.query('set global read_only = 1');
  const [written] = await ask(primary, 'select @@gtid_binlog_pos as position');
  const [followed] = await ask(standby, 'select master_gtid_wait(?, 30) as outcome', [written?.['position']]);
  expect(followed).toEqual({ outcome: 0 });
  await standby.query('stop slave; set global read_only = 0');
  address.target = servers[1].port;
}

/** Sessions that sleep on a server until they are woken. */
async function sleepers(pool: Pool): Promise<readonly number[]> {
  const rows = await ask(pool, findSleepers, [sleeperPrefix('shop.tasks')]);
  return rows.map(({ id }) => Number(id));
}

test('servers that swap roles and cut no connection cost no worker its place, no task a second start, and nobody its rings', async () => {
  const finish = deferred();
  const started: string[] = [];
  class Handlers {
    @TaskHandler('slow')
    async slow(): Promise<void> {
      started.push('slow');
      await finish.promise;
    }
    @TaskHandler('quick')
    quick(): void {
      started.push('quick');
    }
  }
  const options = {
    handlers: [Handlers],
    recovery: { intervalMs: 100, confirmMs: 2_000, graceMs: 2_000 },
    shutdownTimeoutMs: 1_000,
  };
  const url = `mysql://application@127.0.0.1:${address.port}/shop`;
  const one = await startApp({ url }, options);
  const other = await startApp({ url }, options);
  const lost: string[] = [];
  for (const { events } of [one, other])
    events.on('task.recovered', ({ workerId }) => void lost.push(workerId));
  await one.queue.insertTask({ topic: 'slow' });
  await until(async () => started.includes('slow'), 'the slow task runs');
  const admin = one.app.get(QueueAdmin);
  expect(await admin.find('1')).toMatchObject({ current: { topic: 'slow' } });
  await until(async () => (await sleepers(primary)).length === 2, 'both sleep');

  try {
    await failOver();
    // As a ring does that was on its way.
    for (const id of await sleepers(primary)) await primary.query(`kill query ${id}`);
    await until(async () => (await sleepers(standby)).length === 2, 'both sleep on the new server');
    expect(await sleepers(primary)).toEqual([]);
    const places = ['1', '2'].map((id) => lockName(livenessPrefix('shop.tasks') + id));
    await until(async () => {
      const [held] = await ask(standby, 'select is_used_lock(?) and is_used_lock(?) as both_held', places);
      return Number(held?.['both_held']) === 1;
    }, 'both workers hold their places on the new server');
    await one.queue.insertTask({ topic: 'quick' });
    await until(async () => started.includes('quick'), 'a new task starts');
    finish.resolve();
    const rows = (): Promise<RowDataPacket[]> =>
      ask(standby, 'select processo, status, tentativa from shop.tasks order by id');
    await until(async () => (await rows()).every(({ status }) => status === 'sucesso'), 'both have ended');
    expect(await rows()).toMatchObject([
      { processo: 'slow', tentativa: 1 },
      { processo: 'quick', tentativa: 1 },
    ]);
    expect(started).toEqual(['slow', 'quick']);
    expect(lost).toEqual([]);
    // What people look at is the new server, too.
    expect(await admin.find('1')).toMatchObject({ current: { status: 'succeeded' } });
    // And no worker starts on the old one.
    const old = startApp({ url: `mysql://application@127.0.0.1:${servers[0].port}/shop` });
    await expect(old).rejects.toMatchObject({
      code: 'DATABASE_REFUSED',
      message: expect.stringContaining('the server is read-only: it is a replica') as unknown,
    });
  } finally {
    await Promise.all([one.close(), other.close()]);
  }
}, 60_000);
