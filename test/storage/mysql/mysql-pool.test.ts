import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test, vi } from 'vitest';
import { ControlConnection } from '../../../lib/storage/mysql/connections/control-connection.js';
import { mysqlConfig, ownSettings } from '../../../lib/storage/mysql/connections/mysql-config.js';
import { loadMysql2 } from '../../../lib/storage/mysql/connections/mysql-package.js';
import { SessionLocks } from '../../../lib/storage/mysql/connections/mysql-session-locks.js';
import { OwnPool, type OwnPoolParts } from '../../../lib/storage/mysql/connections/own-pool.js';
import { openConnections } from '../../../lib/storage/mysql/connections/queue-connections.js';
import { streamOf } from '../../../lib/storage/mysql/connections/stream-of.js';
import { TransactionConnection } from '../../../lib/storage/mysql/mysql-transaction-connection.js';
import { startProxy } from '../../support/database-proxy.js';
import { holdTimers } from '../../support/held-timers.js';
import { deferred, until } from '../../support/waiting.js';
import { useMysqlDatabase } from '../../support/mysql.js';

const database = await useMysqlDatabase('mariadb');

async function open(
  url = database.url,
  settings = ownSettings,
  more: Partial<OwnPoolParts> = {},
): Promise<OwnPool> {
  return new OwnPool({ mysql: await loadMysql2(), config: mysqlConfig(url), max: 1, settings, ...more });
}

/** A port at which nobody listens. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  await new Promise((closed) => server.close(closed));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

test('who waits gets the place of a connection that is lost', async () => {
  const pool = await open();
  try {
    const lent = await pool.take();
    const waiting = pool.query('select 1 as one');
    await database.pool.query(`kill ${lent.raw.threadId}`);
    await expect(
      new Promise((resolve, reject) => {
        lent.raw.query('select 1', (error) => (error ? reject(error as Error) : resolve(undefined)));
      }),
    ).rejects.toThrow(/connection|socket|ECONNRESET/i);
    lent.destroy();
    expect((await waiting).rows).toEqual([{ one: '1' }]);
  } finally {
    await pool.close();
  }
});

test('who waits for a connection that cannot be opened hears of it as well', async () => {
  const pool = await open(`mysql://root@127.0.0.1:${await freePort()}/shop`);
  try {
    const asked = await Promise.allSettled([1, 2, 3].map((n) => pool.query(`select ${n}`)));
    expect(asked.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  } finally {
    await pool.close();
  }
});

test('a refused connection fails nobody while others are open: who waits gets the one that comes back', async () => {
  const user = `limited_${database.name}`;
  await database.pool.query(
    `create user ${user}@'%' identified by 'secret' with max_user_connections 1; grant all on ${database.name}.* to ${user}@'%'`,
  );
  const address = new URL(database.url);
  address.username = user;
  address.password = 'secret';
  const warned: string[] = [];
  const refused = deferred();
  const warn = (message: string): void => {
    warned.push(message);
    refused.resolve();
  };
  const pool = await open(address.href, ownSettings, { max: 5, warn });
  try {
    const lent = await pool.take();
    const waiting = [1, 2, 3].map((n) => pool.query(`select ${n} as n, connection_id() as id`));
    await refused.promise;
    lent.release();
    const id = String(lent.raw.threadId);
    expect((await Promise.all(waiting)).flatMap(({ rows }) => rows)).toEqual(
      [1, 2, 3].map((n) => ({ n: String(n), id })),
    );
    expect(warned).toEqual([expect.stringMatching(/could not be opened .*max_user_connections/)]);
  } finally {
    await pool.close();
    await database.pool.query(`drop user ${user}@'%'`);
  }
});

test('what the server has ended since it came back is not lent again', async () => {
  const pool = await open();
  try {
    const lent = await pool.take();
    const closed = once(streamOf(lent.raw), 'close');
    lent.release();
    await database.pool.query(`kill ${lent.raw.threadId}`);
    await closed;
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: '1' }]);
  } finally {
    await pool.close();
  }
});

test('a place is given back once, however a connection ends', async () => {
  const pool = await open();
  try {
    const lent = await pool.take();
    lent.destroy();
    lent.release();
    lent.forget();
    const next = await pool.take();
    let isServed = false;
    const waiting = pool.take().then((third) => {
      isServed = true;
      return third;
    });
    await database.pool.query('select 1');
    expect(isServed).toBe(false);
    next.release();
    (await waiting).release();
  } finally {
    await pool.close();
  }
});

test('a connection that cannot be set up fails what was sent behind', async () => {
  const pool = await open(database.url, 'set session no_such_setting = 1');
  try {
    await expect(pool.query('select 1')).rejects.toThrow(/no_such_setting/);
    await expect(pool.query('select 1')).rejects.toThrow(/no_such_setting/);
  } finally {
    await pool.close();
  }
});

test('closing tells those who wait', async () => {
  const pool = await open();
  const lent = await pool.take();
  const waiting = pool.query('select 1');
  const closed = pool.close();
  await expect(waiting).rejects.toMatchObject({ code: 'CONNECTION_LOST' });
  lent.destroy();
  await closed;
});

/** How long an answer may take, and what is added to it. */
const isLimit = (ms: number): boolean => ms === 30_000 || ms === 5_000;

test('a connection that fell silent is cut, and the next statement gets a new one, though others are silent too', async () => {
  const proxy = await startProxy(database);
  const pool = await open(proxy.url, ownSettings, { max: 2 });
  try {
    await Promise.all([pool.query('select 1'), pool.query('select 1')]);
    await until(async () => proxy.count() === 2, 'two are open');
    const timers = holdTimers(isLimit);
    const silence = proxy.forget();
    const lost = pool.query('select 2').catch((error: unknown) => error);
    await silence.hit;
    timers.ringFirst();
    timers.ringFirst();
    expect(await lost).toMatchObject({ code: 'CONNECTION_LOST' });
    timers.release();
    expect((await pool.query('select 3 as n')).rows).toEqual([{ n: '3' }]);
  } finally {
    await pool.close();
    await proxy.close();
  }
});

interface Waits {
  readonly ask: (sql: string) => Promise<unknown>;
  readonly close: () => Promise<void>;
}

async function openControl(url: string): Promise<Waits> {
  const watcher = { lost: () => undefined, restored: () => undefined };
  const control = new ControlConnection(await loadMysql2(), mysqlConfig(url), ownSettings, watcher);
  await control.opening();
  return { ask: (sql) => control.query(sql), close: () => control.close() };
}

async function openLocks(url: string): Promise<Waits> {
  const locks = new SessionLocks(await loadMysql2(), mysqlConfig(url), 30, [], () => undefined);
  await locks.open();
  return { ask: () => locks.tryLock('one'), close: () => locks.close() };
}

async function openPool(url: string): Promise<Waits> {
  const pool = await open(url);
  await pool.query('select 1');
  return { ask: (sql) => pool.query(sql), close: () => pool.close() };
}

const waits = [
  ['a connection that claims', openControl],
  ['the session that holds locks', openLocks],
  ['a pool', openPool],
] as const;

test.each(waits)(
  'what waits for an answer of %s hears at once that the server has ended it',
  async (_, begin) => {
    const proxy = await startProxy(database);
    const one = await begin(proxy.url);
    try {
      // No limit ends it.
      const timers = holdTimers(isLimit);
      const { answered } = proxy.holdAnswers('');
      const asked = one.ask('select 1').catch((error: unknown) => error);
      await answered;
      proxy.halfClose('worker');
      expect(await asked).toMatchObject({ message: expect.stringMatching(/closed/i) });
      expect(timers.waiting).toBe(0);
    } finally {
      await one.close();
      await proxy.close();
    }
  },
);

test.each(waits)('closing %s ends, though the server falls silent amid a statement', async (_, begin) => {
  const proxy = await startProxy(database);
  const one = await begin(proxy.url);
  try {
    const timers = holdTimers(isLimit);
    const silence = proxy.forget();
    const asked = one.ask('select 1').catch((error: unknown) => error);
    await silence.hit;
    const closed = one.close();
    while (timers.waiting > 0) timers.ringFirst();
    expect(await asked).toMatchObject({ message: expect.stringMatching(/no answer/i) });
    await closed;
  } finally {
    await proxy.close();
  }
});

test('a statement that the server is at work on is waited for', async () => {
  const pool = await open();
  const [holder, patient] = [await open(), await open()];
  try {
    const held = await holder.take();
    await held.ask(`do get_lock('silent', 0)`);
    const timers = holdTimers(isLimit);
    const waiting = patient.query(`select get_lock('silent', 60) as got`);
    await until(async () => {
      const { rows } = await pool.query(
        `select 1 from information_schema.processlist where info like '%silent%60%' and id <> connection_id()`,
      );
      return rows.length === 1;
    }, 'the statement waits');
    timers.ringFirst();
    timers.ringFirst();
    await until(async () => timers.waiting === 1, 'it is waited for again');
    held.destroy();
    expect((await waiting).rows).toEqual([{ got: '1' }]);
  } finally {
    await Promise.all([pool, holder, patient].map((one) => one.close()));
  }
});

test('after a server has only read, nothing goes to it any more: another one may have taken its place', async () => {
  await database.pool.query('create table if not exists note (n int)');
  const insert = 'insert into note values (1)';
  const pool = await open(database.url, ownSettings, { max: 2 });
  const mysql = await loadMysql2();
  const refused = vi.fn<() => void>(() => pool.renew());
  const watcher = { lost: () => undefined, restored: () => undefined, refused };
  const control = new ControlConnection(mysql, mysqlConfig(database.url), ownSettings, watcher);
  const readOnly = 'set session transaction read only';
  const idOf = async () => (await pool.query('select connection_id() as id')).rows[0]?.['id'];
  try {
    // Two connections, of which one is of the old server, as it seems.
    const [one, other] = await Promise.all([pool.take(), pool.take()]);
    await one.ask(readOnly);
    const numbers = [one, other].map(({ raw }) => String(raw.threadId));
    one.release();
    await expect(pool.query(insert)).rejects.toMatchObject({ errno: 1792 });
    other.release();
    expect(numbers).not.toContain(await idOf());
    await pool.query(insert);
    const before = await idOf();
    await control.query(readOnly);
    expect((await control.query(insert)).changed).toBe(1);
    expect(refused).toHaveBeenCalledOnce();
    expect(await idOf()).not.toBe(before);
  } finally {
    await control.close();
    await pool.close();
  }
});

test('a refusal by a server that only reads is a reason to renew the connections of all pools of the queue', async () => {
  await database.pool.query('create table if not exists note (n int)');
  const { tasks, own } = openConnections(await loadMysql2(), {
    connection: database.url,
    poolSize: 2,
    works: true,
    watcher: () => ({ lost: () => undefined, restored: () => undefined }),
    warn: () => undefined,
  });
  const idOf = async (pool: OwnPool) => (await pool.query('select connection_id() as id')).rows[0]?.['id'];
  try {
    for (const [refused, other] of [
      [own, tasks],
      [tasks, own],
    ] as const) {
      const before = await idOf(other);
      expect(await idOf(other)).toBe(before);
      const lent = await refused.take();
      await lent.ask('set session transaction read only');
      lent.release();
      await expect(refused.query('insert into note values (1)')).rejects.toMatchObject({ errno: 1792 });
      expect(await idOf(other)).not.toBe(before);
    }
    // A handler's transaction that ends for that reason.
    const ended = await TransactionConnection.take(tasks, own);
    const other = await tasks.take();
    ended.cut(Object.assign(new Error('read only'), { errno: 1290 }));
    other.release();
    expect(await idOf(tasks)).not.toBe(String(other.raw.threadId));
  } finally {
    await Promise.all([tasks.close(), own.close()]);
  }
});

test('a connection is not lent again once it is too old', async () => {
  const timers = holdTimers((ms) => ms === 61_000);
  const pool = await open(database.url, ownSettings, { maxAgeMs: 61_000 });
  const idOf = async () => (await pool.query('select connection_id() as id')).rows[0]?.['id'];
  try {
    const before = await idOf();
    expect(await idOf()).toBe(before);
    timers.ringFirst();
    expect(await idOf()).not.toBe(before);
    const lent = await pool.take();
    timers.ringFirst();
    lent.release();
    expect(await idOf()).not.toBe(String(lent.raw.threadId));
  } finally {
    await pool.close();
  }
});

test('where the server has no connection left to ask it over, a statement is waited for', async () => {
  const user = `lone_${database.name}`;
  await database.pool.query(
    `create user ${user}@'%' identified by 'secret' with max_user_connections 1; grant all on ${database.name}.* to ${user}@'%'`,
  );
  const address = new URL(database.url);
  [address.username, address.password] = [user, 'secret'];
  const [holder, patient] = [await open(), await open(address.href)];
  try {
    const held = await holder.take();
    await held.ask(`do get_lock('full', 0)`);
    await patient.query('select 1');
    const timers = holdTimers(isLimit);
    const waiting = patient.query(`select get_lock('full', 60) as got`);
    await until(async () => timers.waiting === 1, 'it waits');
    timers.ringFirst();
    timers.ringFirst();
    await until(async () => timers.waiting === 1, 'it is waited for again');
    held.destroy();
    expect((await waiting).rows).toEqual([{ got: '1' }]);
  } finally {
    await Promise.all([holder, patient].map((one) => one.close()));
    await database.pool.query(`drop user ${user}@'%'`);
  }
});
