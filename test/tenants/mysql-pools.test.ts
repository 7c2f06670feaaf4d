import { createServer } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { QueueEvents } from '../../lib/index.js';
import { loadMysql2 } from '../../lib/storage/mysql/connections/mysql-package.js';
import { MysqlTenantDriver } from '../../lib/storage/mysql/tenants/mysql-tenant-driver.js';
import { DatabasePool } from '../../lib/tenants/database-pool.js';
import { TenantPools } from '../../lib/tenants/tenant-pools.js';
import type { ResolvedTenantOptions, TenantResolver } from '../../lib/options/tenant-options.js';
import { deferred, until } from '../support/waiting.js';
import { serve } from '../webhooks/kit/receivers.js';
import { useMysqlTenant } from './kit/mysql-tenant.js';
import { tenantOptions } from './kit/tenant-options.js';
import { secret, secretMark } from './kit/tenants.js';

// What pools do with MySQL's driver; what they do with any is tested with PostgreSQL's.

const mysql = await loadMysql2();
const tenant = useMysqlTenant();
const opened: TenantPools[] = [];

const connections = async (): Promise<number> => (await tenant().sessions()).length;

afterEach(async () => {
  await Promise.all(opened.splice(0).map((pools) => pools.close()));
  await until(async () => (await connections()) === 0, 'all connections are closed');
});

function start(options: Partial<ResolvedTenantOptions> = {}, resolve?: TenantResolver) {
  const resolved: string[] = [];
  const told: string[] = [];
  const complete = tenantOptions(options);
  const driver = new MysqlTenantDriver(mysql, complete);
  const noted: TenantResolver = (id, how) => {
    resolved.push(id);
    return resolve ? resolve(id, how) : { ...tenant().config };
  };
  const events = new QueueEvents();
  events.on('tenant.failed', ({ tenant: id, message }) => void told.push(`${id}: ${message}`));
  events.on('tenant.restored', ({ tenant: id }) => void told.push(`${id} is back`));
  const pools = new TenantPools(complete, (id) => new DatabasePool(id, complete, noted, driver, events));
  opened.push(pools);
  return { pools, resolved, told };
}

/** Uses a connection and gives it back. */
async function use(pools: TenantPools): Promise<number> {
  const lease = await pools.take('a');
  const { rows } = await lease.query('select connection_id() as id');
  await lease.giveBack();
  return Number(rows[0]?.['id']);
}

test('connections are used again, and each tenant has no more than allowed', async () => {
  const { pools, resolved } = start({ maxConnectionsPerTenant: 2, waitTimeoutMs: 500 });
  const [first, second] = await Promise.all([pools.take('a'), pools.take('a')]);
  await expect(pools.take('a')).rejects.toThrow(/all 2 connections to the database of tenant a were in use/);
  expect(pools.stats()).toEqual([{ tenant: 'a', connections: 2, inUse: 2, waiting: 0, failure: undefined }]);
  await Promise.all([first.giveBack(), second.giveBack()]);
  expect(await use(pools)).toBe(await use(pools));
  expect(resolved).toEqual(['a']);
  expect(await connections()).toBe(2);
});

test('a server without room for more connections fails nobody who waits', async () => {
  const { config, pool } = tenant();
  const { pools, told } = start();
  // Connections of before are not counted.
  await pool.query(`alter user ${config.user}@'%' with max_user_connections 1`);
  try {
    const first = await pools.take('a');
    const others = Promise.all([use(pools), use(pools)]);
    await first.giveBack();
    // Not always that of before: while a session is reset, MariaDB does not count it.
    expect(await others).toEqual([expect.any(Number), expect.any(Number)]);
    expect(told).toEqual([]);
  } finally {
    await pool.query(`alter user ${config.user}@'%' with max_user_connections 0`);
  }
});

test('a changed password is fetched again, and connections of before stay until they are given back', async () => {
  const { config, pool } = tenant();
  let { password } = config;
  const { pools, resolved, told } = start({}, () => ({ ...config, password }));
  const kept = await pools.take('a');
  await pool.query(`alter user ${config.user}@'%' identified by '${(password = secret())}'`);
  try {
    const leases = await Promise.all(Array.from({ length: 3 }, () => pools.take('a')));
    expect(resolved).toEqual(['a', 'a']);
    expect((await kept.query(`select 'well' as state`)).rows).toEqual([{ state: 'well' }]);
    await Promise.all([kept, ...leases].map((lease) => lease.giveBack()));
    await until(async () => pools.stats()[0]?.connections === 3, 'the one of before is closed');
    expect(told).toEqual([]);
  } finally {
    await pool.query(`alter user ${config.user}@'%' identified by '${config.password}'`);
  }
});

test('a database or user that is gone by its name is asked for again', async () => {
  const { config } = tenant();
  for (const wrong of [{ database: 'nowhere' }, { user: 'nobody' }]) {
    const { pools, resolved } = start({}, () => ({ ...config, ...(resolved.length === 1 ? wrong : {}) }));
    await use(pools);
    expect(resolved).toHaveLength(2);
  }
});

test('credentials that stay refused rest, and are told without the password', async () => {
  const { config } = tenant();
  const { pools, resolved, told } = start({}, () => ({ ...config, password: secret() }));
  for (let n = 0; n < 3; n += 1) {
    const error: unknown = await pools.take('a').catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: 'TENANT_UNAVAILABLE',
      message: expect.stringMatching(/^the database of tenant a cannot be used: Access denied/),
    });
    expect(String(error)).not.toContain(secretMark);
  }
  expect(resolved).toHaveLength(2);
  expect(told).toHaveLength(1);
});

test('a server that never answers, or is not there, fails within the limit', async () => {
  const silent = await serve(createServer(() => undefined));
  const { config } = tenant();
  const hung = start({ connectTimeoutMs: 300 }, () => ({ ...config, port: silent.port }));
  await expect(hung.pools.take('a')).rejects.toThrow(
    'the database of tenant a cannot be used: no connection within 300 ms',
  );
  const nowhere = start({}, () => ({ ...config, port: 1 }));
  await expect(nowhere.pools.take('a')).rejects.toThrow(/tenant a cannot be used: .*ECONNREFUSED/);
});

test('an address that is none is told without what it was', async () => {
  for (const answer of [
    undefined,
    '',
    5,
    {},
    { host: 'h', user: 'u' },
    `mysql://u:${secretMark}:x/y@h:port/d`,
    'mysql://u@h',
    `postgres://u:${secretMark}@h/d`,
  ]) {
    const error: unknown = await start({}, () => answer as never)
      .pools.take('a')
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: 'TENANT_UNAVAILABLE',
      message: expect.stringMatching(
        /tenant a is neither a URL .* nor a configuration of mysql2 with a database/,
      ),
    });
    expect(String(error)).not.toContain(secretMark);
  }
});

test('a URL will do, and so does a pool, of which only the configuration is read', async () => {
  const { host, port, database, user, password } = tenant().config;
  const address = `${user}:${password}@${host}:${port}/${database}`;
  for (const given of [`mysql://${address}`, `mariadb://${address}`, tenant().pool]) {
    expect(await use(start({}, () => given as never).pools)).toBeGreaterThan(0);
  }
});

test('idle connections are given up, and those that the server ends are replaced', async () => {
  const { pools } = start();
  const id = await use(pools);
  await tenant().pool.query(`kill ${id}`);
  await until(async () => pools.stats()[0]?.connections === 0, 'the end is noticed');
  expect(await use(pools)).not.toBe(id);
  const hasty = start({ idleMs: 50 });
  const lease = await hasty.pools.take('a');
  await use(hasty.pools);
  await until(async () => hasty.pools.stats()[0]?.connections === 1, 'the idle one is closed');
  expect((await lease.query(`select 'well' as state`)).rows).toEqual([{ state: 'well' }]);
  await lease.giveBack();
  await until(async () => hasty.pools.stats().length === 0, 'nothing is left');
});

test('closing cuts what is lent, and the server stops working for it', async () => {
  const resolving = deferred<never>();
  const { pools } = start({ maxConnectionsPerTenant: 1 }, (id) =>
    id === 'b' ? resolving.promise : { ...tenant().config },
  );
  const lease = await pools.take('a');
  const running = lease.query('select sleep(60)');
  const refused = Promise.allSettled([pools.take('a'), pools.take('b'), running]);
  await until(
    async () => (await tenant().sessions()).some(({ info }) => info?.includes('sleep')),
    'it sleeps',
  );
  await pools.close();
  resolving.resolve({ ...tenant().config } as never);
  const reasons = (await refused).map((one) => (one.status === 'rejected' ? String(one.reason) : 'good'));
  expect(reasons).toEqual([
    expect.stringContaining('are being closed'),
    expect.stringContaining('are being closed'),
    expect.stringContaining('closing'),
  ]);
  await until(async () => (await connections()) === 0, 'nobody sleeps');
});
