import { createServer } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { QueueEvents, UnrecoverableError } from '../../lib/index.js';
import { PostgresTenantDriver } from '../../lib/storage/postgres/tenants/postgres-tenant-driver.js';
import { DatabasePool } from '../../lib/tenants/database-pool.js';
import { TenantPools } from '../../lib/tenants/tenant-pools.js';
import type { ResolvedTenantOptions, TenantResolver } from '../../lib/options/tenant-options.js';
import { deferred, until } from '../support/waiting.js';
import { serve } from '../webhooks/kit/receivers.js';
import { tenantOptions } from './kit/tenant-options.js';
import { secret, secretMark, useTenants } from './kit/tenants.js';

const tenantOf = useTenants('a', 'b');
const opened: TenantPools[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((pools) => pools.close()));
  await until(async () => (await connections()) === 0, 'all connections are closed');
});

const connections = async (): Promise<number> =>
  (await tenantOf('a').connections()) + (await tenantOf('b').connections());

interface Started {
  readonly pools: TenantPools;
  /** Tenants that were resolved, in order. */
  readonly resolved: string[];
  readonly told: string[];
}

/** Pools whose tenants `a…` have one database, the others another. */
function start(options: Partial<ResolvedTenantOptions> = {}, resolve?: TenantResolver): Started {
  const resolved: string[] = [];
  const told: string[] = [];
  const complete = tenantOptions(options);
  const driver = new PostgresTenantDriver(complete, 'tarefa test tenant');
  const noted: TenantResolver = (tenant, how) => {
    resolved.push(tenant);
    return resolve ? resolve(tenant, how) : { ...tenantOf(tenant.startsWith('a') ? 'a' : 'b').config };
  };
  const events = new QueueEvents();
  events.on('tenant.failed', ({ tenant, message }) => void told.push(`${tenant}: ${message}`));
  events.on('tenant.restored', ({ tenant }) => void told.push(`${tenant} is back`));
  const pools = new TenantPools(complete, (id) => new DatabasePool(id, complete, noted, driver, events));
  opened.push(pools);
  return { pools, resolved, told };
}

/** Uses a tenant's connection and gives it back. */
async function use(pools: TenantPools, tenant: string): Promise<number> {
  const lease = await pools.take(tenant);
  const { rows } = await lease.query('select pg_backend_pid() as pid');
  await lease.giveBack();
  return Number(rows[0]?.['pid']);
}

const tenantsOf = (pools: TenantPools): readonly string[] => pools.stats().map(({ tenant }) => tenant);

test('the first use finds out where a database is, for all that wait; later ones use its connection again', async () => {
  const { pools, resolved } = start();
  const leases = await Promise.all(Array.from({ length: 5 }, () => pools.take('a')));
  expect(pools.stats()).toEqual([{ tenant: 'a', connections: 5, inUse: 5, waiting: 0, failure: undefined }]);
  await Promise.all(leases.map((lease) => lease.giveBack()));
  const pid = await use(pools, 'a');
  expect(await use(pools, 'a')).toBe(pid);
  expect(resolved).toEqual(['a']);
  expect(pools.stats()).toMatchObject([{ connections: 5, inUse: 0 }]);
});

test('a changed password is fetched again, once for all that it concerns', async () => {
  const { config, pool } = tenantOf('a');
  let { password } = config;
  const { pools, resolved, told } = start({}, () => ({ ...config, password }));
  const kept = await pools.take('a');
  await pool.query(`alter role ${config.user} password '${(password = secret())}'`);
  try {
    const leases = await Promise.all(Array.from({ length: 4 }, () => pools.take('a')));
    expect(resolved).toEqual(['a', 'a']);
    // Connections of before are good until they are given back.
    expect((await kept.query('select 1')).rowCount).toBe(1);
    const [used] = pools.stats();
    expect(used).toMatchObject({ inUse: 5 });
    await Promise.all([kept, ...leases].map((lease) => lease.giveBack()));
    expect(pools.stats()).toMatchObject([{ connections: (used?.connections ?? 0) - 1, inUse: 0 }]);
    expect(told).toEqual([]);
  } finally {
    await pool.query(`alter role ${config.user} password '${config.password}'`);
  }
});

test('a database that is gone by its name, or a role, is asked for again as well', async () => {
  const { config } = tenantOf('a');
  for (const wrong of [{ database: 'nowhere' }, { user: 'nobody' }]) {
    const { pools, resolved } = start({}, () => ({ ...config, ...(resolved.length === 1 ? wrong : {}) }));
    await use(pools, 'a');
    expect(resolved).toHaveLength(2);
  }
});

test('credentials that stay refused rest: nobody is asked again until then', async () => {
  const { config } = tenantOf('a');
  let password = secret();
  const { pools, resolved, told } = start({ restMs: 100 }, () => ({ ...config, password }));
  for (let n = 0; n < 5; n += 1) {
    const error: unknown = await pools.take('a').catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: 'TENANT_UNAVAILABLE',
      message: expect.stringMatching(
        /^the database of tenant a cannot be used: password authentication failed/,
      ),
    });
    expect(String(error)).not.toContain(secretMark);
  }
  expect(resolved.length).toBeLessThanOrEqual(4);
  expect(pools.stats()).toMatchObject([{ failure: expect.stringContaining('password authentication') }]);
  password = config.password;
  await until(() => use(pools, 'a').catch(() => undefined), 'it is tried again');
  expect(told).toEqual([expect.stringContaining('a: the database of tenant a cannot be used'), 'a is back']);
  expect(pools.stats()).toMatchObject([{ failure: undefined }]);
});

test('what is known of a tenant is looked up again when its database has moved', async () => {
  const { config } = tenantOf('a');
  let port: number = 1;
  const { pools, resolved, told } = start({ restMs: 0 }, () => ({ ...config, port }));
  await expect(pools.take('a')).rejects.toThrow(/tenant a cannot be used: .*ECONNREFUSED/);
  port = Number(config.port);
  await until(() => use(pools, 'a').catch(() => undefined), 'the new address is used');
  expect(resolved.length).toBeGreaterThan(1);
  expect(told.at(-1)).toBe('a is back');
});

test('a database that never answers fails within the limit, and is not waited for by everybody', async () => {
  const silent = await serve(createServer(() => undefined));
  const { pools, told } = start({ connectTimeoutMs: 1_100, maxConnectionsPerTenant: 2 }, (tenant) =>
    tenant === 'b' ? { ...tenantOf('b').config } : { ...tenantOf('b').config, port: silent.port },
  );
  const all = Promise.allSettled(Array.from({ length: 20 }, () => pools.take('hung')));
  await until(async () => silent.sockets.length > 0, 'it is connected to');
  // Meanwhile another tenant is served.
  await use(pools, 'b');
  for (const result of await all) {
    expect(result).toMatchObject({
      status: 'rejected',
      reason: { message: 'the database of tenant hung cannot be used: no connection within 1100 ms' },
    });
  }
  expect(silent.sockets).toHaveLength(2);
  expect(told).toHaveLength(1);
});

test('a resolver that never answers, or answers nonsense, is an error without what it answered', async () => {
  const aborted = deferred<unknown>();
  const never = start({ resolveTimeoutMs: 50 }, (_, { signal }) => {
    signal.addEventListener('abort', () => aborted.resolve(signal.reason));
    return new Promise(() => undefined);
  });
  await expect(never.pools.take('a')).rejects.toThrow(/where it is was not known within 50 ms/);
  expect(await aborted.promise).toMatchObject({ code: 'TENANT_UNAVAILABLE' });

  for (const answer of [
    undefined,
    null,
    '',
    5,
    {},
    { host: 'h', user: 'u' },
    `postgres://u:${secretMark}:x/y@h:port/d`,
    'postgres://u@h',
    'postgres://u@h/?a=b',
    'no url',
  ]) {
    const { pools } = start({}, () => answer as never);
    const error: unknown = await pools.take('a').catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: 'TENANT_UNAVAILABLE',
      message: expect.stringMatching(
        /tenant a is neither a URL .* nor a configuration of pg with a database/,
      ),
    });
    expect(String(error)).not.toContain(secretMark);
  }

  const thrown = start({}, () => {
    throw new Error('tenant a is not in the registry');
  });
  await expect(thrown.pools.take('a')).rejects.toThrow(/cannot be used: tenant a is not in the registry/);
  const hopeless = new UnrecoverableError('that tenant has left us');
  await expect(start({}, () => Promise.reject(hopeless)).pools.take('a')).rejects.toBe(hopeless);
});

test('a URL will do, and so does a pool, of which only the configuration is read', async () => {
  const { host, port, database, user, password } = tenantOf('a').config;
  const url = `postgres://${user}:${password}@${host}:${port}/${database}`;
  for (const given of [url, tenantOf('a').pool]) {
    expect(await use(start({}, () => given).pools, 'a')).toBeGreaterThan(0);
  }
});

test('a tenant has no more connections than allowed: others wait their turn, not for ever', async () => {
  const { pools } = start({ maxConnectionsPerTenant: 2, waitTimeoutMs: 1_000 });
  const [first, second] = await Promise.all([pools.take('a'), pools.take('a')]);
  const third = pools.take('a');
  await until(async () => pools.stats()[0]?.waiting === 1, 'the third one waits');
  expect(pools.stats()).toMatchObject([{ connections: 2, inUse: 2 }]);
  await first?.giveBack();
  const lease = await third;
  await expect(pools.take('a')).rejects.toThrow(
    /all 2 connections to the database of tenant a were in use for 1000 ms: raise .*maxConnectionsPerTenant/,
  );
  // Other tenants have connections of their own.
  await use(pools, 'b');
  expect(await tenantOf('a').connections()).toBe(2);
  await Promise.all([second?.giveBack(), lease.giveBack()]);
});

test('a server without room for more connections fails nobody: who waits gets the one that comes back', async () => {
  const { config, pool } = tenantOf('a');
  const { pools, told } = start();
  const first = await pools.take('a');
  await pool.query(`alter role ${config.user} connection limit 1`);
  try {
    const { rows } = await first.query('select pg_backend_pid() as pid');
    const others = Promise.all([use(pools, 'a'), use(pools, 'a')]);
    await first.giveBack();
    expect(await others).toEqual([rows[0]?.['pid'], rows[0]?.['pid']]);
    expect(told).toEqual([]);
    const hasty = start({ waitTimeoutMs: 0 });
    const second = await pools.take('a');
    await expect(hasty.pools.take('a')).rejects.toThrow(/tenant a cannot be used: too many connections/);
    await second.giveBack();
  } finally {
    await pool.query(`alter role ${config.user} connection limit -1`);
  }
});

test('the pool unused for longest makes room, and never one in use', async () => {
  const { pools, resolved } = start({ maxPools: 3 });
  for (const tenant of ['a1', 'b1', 'a2']) await use(pools, tenant);
  const lease = await pools.take('a1');
  expect(tenantsOf(pools)).toEqual(['b1', 'a2', 'a1']);
  await use(pools, 'b2');
  expect(tenantsOf(pools)).toEqual(['a2', 'a1', 'b2']);
  await use(pools, 'b3');
  await use(pools, 'b4');
  expect(tenantsOf(pools)).toEqual(['a1', 'b3', 'b4']);
  expect((await lease.query('select 1')).rowCount).toBe(1);
  await until(async () => (await connections()) === 3, 'the others are closed');
  await lease.giveBack();
  // One that was closed is found out about again.
  await use(pools, 'b1');
  expect(resolved).toEqual(['a1', 'b1', 'a2', 'b2', 'b3', 'b4', 'b1']);
});

test('when all pools are in use the next tenants wait in turn, not for ever', async () => {
  const { pools } = start({ maxPools: 2, waitTimeoutMs: 1_000 });
  const [a, b] = await Promise.all([pools.take('a1'), pools.take('b1')]);
  const order: string[] = [];
  const waiting = ['a2', 'a2', 'b2'].map(async (tenant) => {
    const lease = await pools.take(tenant);
    order.push(tenant);
    return lease;
  });
  await a?.giveBack();
  // The turn of the second one is not lost: the pool that it would make is there.
  const [first, second] = await Promise.all(waiting.slice(0, 2));
  expect(order).toEqual(['a2', 'a2']);
  await b?.giveBack();
  await Promise.all(waiting);
  expect(tenantsOf(pools)).toEqual(['a2', 'b2']);
  await expect(pools.take('a3')).rejects.toThrow(
    /all 2 pools of tenants were in use for 1000 ms: raise tenantDatabases.maxPools/,
  );
  await Promise.all([first?.giveBack(), second?.giveBack()]);
  await use(pools, 'a3');
});

test('connections and what is known of their tenant are given up when nobody uses them', async () => {
  const { pools, resolved } = start({ idleMs: 50 });
  const lease = await pools.take('a');
  await use(pools, 'b');
  await until(async () => (await tenantOf('b').connections()) === 0, 'the idle ones are closed');
  expect(tenantsOf(pools)).toEqual(['a']);
  expect((await lease.query('select 1')).rowCount).toBe(1);
  await lease.giveBack();
  await until(async () => pools.stats().length === 0, 'nothing is left');
  await use(pools, 'a');
  expect(resolved).toEqual(['a', 'b', 'a']);
});

test('idle connections that the server ends are replaced', async () => {
  const { pools, told } = start();
  const pid = await use(pools, 'a');
  await tenantOf('a').pool.query('select pg_terminate_backend($1)', [pid]);
  await until(async () => pools.stats()[0]?.connections === 0, 'the end is noticed');
  expect(await use(pools, 'a')).not.toBe(pid);
  expect(told).toEqual([]);
});

test('a tenant that is forgotten is asked for again, and what is lent stays until it is given back', async () => {
  const { pools, resolved } = start();
  const lease = await pools.take('a');
  pools.forget('a');
  pools.forget('unknown');
  expect((await lease.query('select 1')).rowCount).toBe(1);
  await use(pools, 'a');
  expect(resolved).toEqual(['a', 'a']);
  await lease.giveBack();
  await until(async () => (await tenantOf('a').connections()) === 1, 'the old one is closed');
  pools.forget('a');
  await until(async () => (await tenantOf('a').connections()) === 0, 'an idle one is closed at once');
});

test('closing cuts what is lent, refuses what waits, and closes what is being opened', async () => {
  const resolving = deferred<object>();
  const { pools } = start({ maxConnectionsPerTenant: 1 }, (tenant) =>
    tenant === 'b' ? resolving.promise : { ...tenantOf('a').config },
  );
  const lease = await pools.take('a');
  const running = lease.query('select pg_sleep(60)');
  const refused = Promise.allSettled([pools.take('a'), pools.take('b'), running]);
  await pools.close();
  resolving.resolve({ ...tenantOf('b').config });
  const reasons = (await refused).map((one) => (one.status === 'rejected' ? String(one.reason) : 'good'));
  expect(reasons).toEqual([
    expect.stringContaining('are being closed'),
    expect.stringContaining('are being closed'),
    expect.stringContaining('terminated'),
  ]);
  await expect(pools.take('a')).rejects.toThrow(/the application is closing/);
  await pools.close();
});
