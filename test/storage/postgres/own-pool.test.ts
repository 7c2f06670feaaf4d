import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { Pool, type PoolClient } from 'pg';
import { afterEach, expect, test } from 'vitest';
import { isAtWork } from '../../../lib/storage/postgres/connections/is-at-work.js';
import {
  insertConnections,
  OwnPool,
  type OwnPoolOptions,
} from '../../../lib/storage/postgres/connections/own-pool.js';
import { takeRelease } from '../../../lib/storage/postgres/connections/take-release.js';
import { useDatabase } from '../../support/database.js';
import { holdTimers } from '../../support/held-timers.js';
import { deferred, until } from '../../support/waiting.js';

const role = `limited_${randomBytes(6).toString('hex')}`;
const database = await useDatabase();
await database.pool.query(`create role ${role} login password 'secret'`);
const opened: OwnPool[] = [];

afterEach(async () => {
  for (const own of opened.splice(0)) if (!own.ending) await own.end();
});

/** A pool of at most five connections, of which the server allows so many. */
async function open(
  allowed: number,
  options: OwnPoolOptions = {},
): Promise<{ readonly own: OwnPool; readonly pool: Pool }> {
  // What was closed by the test before may not be gone yet.
  await until(async () => (await backends()) === 0, 'the role has no connection');
  await database.pool.query(`alter role ${role} connection limit ${allowed}`);
  const { hostname: host, port, pathname } = new URL(database.url);
  const address = { host, port: Number(port), database: pathname.slice(1) };
  const pool = new Pool({ ...address, user: role, password: 'secret', max: 5 });
  pool.on('error', () => undefined);
  const own = new OwnPool(pool, options);
  opened.push(own);
  return { own, pool };
}

async function backends(): Promise<number> {
  const { rowCount } = await database.pool.query('select from pg_stat_activity where usename = $1', [role]);
  return rowCount ?? 0;
}

const pidOf = async (client: PoolClient): Promise<unknown> =>
  (await client.query('select pg_backend_pid() as pid')).rows[0]?.pid;

test('a refused connection fails nobody while others are open: who waits gets what comes back, in turn', async () => {
  const told: string[] = [];
  const refused = deferred();
  const shared = (error: unknown, others: number): void => {
    told.push(`${(error as { code: string }).code} ${others}`);
    refused.resolve();
  };
  const { own } = await open(1, { shared });
  const first = await own.connect();
  const pid = await pidOf(first);
  const order: number[] = [];
  const others = [1, 2, 3].map(async (n) => {
    const client = await own.connect();
    order.push(n);
    expect(await pidOf(client)).toBe(pid);
    client.release();
  });
  await refused.promise;
  first.release();
  await Promise.all(others);
  expect(order).toEqual([1, 2, 3]);
  expect(new Set(told)).toEqual(new Set(['53300 1']));
  // One that is idle is lent at once, also soon after a refusal.
  const answers = await Promise.all(Array.from({ length: 20 }, () => own.query('select 1 as one')));
  expect(answers.flatMap(({ rows }) => rows)).toEqual(Array.from({ length: 20 }, () => ({ one: 1 })));
});

test('a connection that comes back is lent to who waits for one that the server never opens', async () => {
  const { own, pool } = await open(5);
  const first = await own.connect();
  const hanging = deferred<Socket>();
  const silent = createServer((socket) => hanging.resolve(socket));
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  pool.options.port = (silent.address() as AddressInfo).port;
  const waiting = own.connect();
  const socket = await hanging.promise;
  first.release();
  const second = await waiting;
  expect(second).toBe(first);
  second.release();
  socket.destroy();
  await new Promise((closed) => silent.close(closed));
});

test('more are opened as soon as the server has room', async () => {
  const refused = deferred();
  const { own } = await open(1, { shared: () => refused.resolve() });
  const first = await own.connect();
  const waiting = own.connect();
  await refused.promise;
  await database.pool.query(`alter role ${role} connection limit 2`);
  const second = await waiting;
  expect(second).not.toBe(first);
  first.release();
  second.release();
});

test('who must not wait for ever is told why no more could be opened', async () => {
  const { own } = await open(1, { patienceMs: 0 });
  const first = await own.connect();
  await expect(own.query('select 1')).rejects.toMatchObject({ code: '53300' });
  first.release();
  expect((await own.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
});

test('with none open, whoever waits is told that none could be opened', async () => {
  const { own } = await open(0);
  const asked = await Promise.allSettled([1, 2, 3].map(() => own.connect()));
  expect(asked).toEqual(
    asked.map(() => ({ status: 'rejected', reason: expect.objectContaining({ code: '53300' }) })),
  );
});

test('a connection that is lost makes room for another one', async () => {
  // More than the pool has: the server still counts what is lost for a moment.
  const { own } = await open(10);
  const [first, ...others] = await Promise.all(Array.from({ length: 5 }, () => own.connect()));
  if (!first) throw new Error('no connection');
  const waiting = own.connect();
  const pid = await pidOf(first);
  first.on('error', () => undefined);
  first.release(new Error('lost'));
  const next = await waiting;
  expect(await pidOf(next)).not.toBe(pid);
  for (const client of [next, ...others]) client.release();
});

test('one that ends tells those who wait, and closes the others when they come back', async () => {
  const refused = deferred();
  const { own } = await open(1, { shared: () => refused.resolve() });
  const first = await own.connect();
  const waiting = own.connect();
  await refused.promise;
  const ended = own.end();
  await expect(waiting).rejects.toThrow(/after calling end/);
  await expect(own.connect()).rejects.toThrow(/after calling end/);
  first.release();
  await ended;
});

test('a backend that is idle is not at work; where the server has no connection left to ask it over, it counts as at work', async () => {
  const { own, pool } = await open(2);
  const { host, port, database: name, user, password } = pool.options;
  const client = await own.connect();
  const pid = (await pidOf(client)) as number;
  const look = (): Promise<boolean> => isAtWork({ host, port, database: name, user, password }, pid);
  expect(await look()).toBe(false);
  await database.pool.query(`alter role ${role} connection limit 1`);
  expect(await look()).toBe(true);
  client.release();
});

test('what comes back last is lent first, without the pool, which gets it when nobody asks for a second', async () => {
  const { own, pool } = await open(5);
  const timers = holdTimers((ms) => ms === 1_000);
  const [first, second] = await Promise.all([own.connect(), own.connect()]);
  first.release();
  second.release();
  expect(await own.connect()).toBe(second);
  second.release();
  expect(timers.waiting).toBe(1);
  expect(pool.idleCount).toBe(0);
  timers.ringFirst();
  expect(pool.idleCount).toBe(2);
  expect(await own.connect()).toBe(second);
  second.release();
});

test('a connection is as it was when it comes back from a task, however often it was lent to one', async () => {
  const { own } = await open(1);
  const client = await own.connect();
  const before = Reflect.get(client, 'release');
  for (let use = 0; use < 3; use += 1) {
    takeRelease(client)();
    expect(await own.connect()).toBe(client);
  }
  const after = Reflect.get(client, 'release');
  client.release();
  expect(after).toBe(before);
});

test('statements of many forms do not fill the session of a connection', async () => {
  const { own } = await open(1);
  const { inserts } = insertConnections(own, undefined, 'direct');
  for (let form = 0; form < 220; form += 1) {
    expect((await inserts.query(`select ${form}::int as form`)).rows).toEqual([{ form }]);
  }
  const { rows } = await own.query('select count(*)::int as prepared from pg_prepared_statements');
  expect(rows).toEqual([{ prepared: 200 }]);
});

test('what the server has ended since it came back is not lent again', async () => {
  const { own, pool } = await open(5);
  const client = await own.connect();
  const pid = await pidOf(client);
  client.release();
  const ended = once(pool, 'error');
  await database.pool.query('select pg_terminate_backend($1)', [pid]);
  await ended;
  const { rows } = await own.query('select pg_backend_pid() as pid');
  expect(rows).toEqual([{ pid: expect.any(Number) }]);
  expect(rows[0]?.['pid']).not.toBe(pid);
  expect(own.count).toBe(1);
});

test('what is renewed, or too old, is not lent again, whether it was at hand or lent', async () => {
  const timers = holdTimers((ms) => ms === 61_000);
  const { own } = await open(5, { maxAgeMs: 61_000 });
  const current = async (): Promise<unknown> => (await own.query('select pg_backend_pid() as pid')).rows[0];
  const grow = (): void => {
    while (timers.waiting > 0) timers.ringFirst();
  };
  for (const retire of [() => own.renew(), grow]) {
    const before = await current();
    expect(await current()).toEqual(before);
    retire();
    const after = await current();
    expect(after).not.toEqual(before);
    const lent = await own.connect();
    expect({ pid: await pidOf(lent) }).toEqual(after);
    own.renew();
    lent.release();
    expect(await current()).not.toEqual(after);
  }
});
