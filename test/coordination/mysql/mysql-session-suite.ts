import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { RowDataPacket } from 'mysql2/promise';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { SessionWatcher } from '../../../lib/coordination/session.js';
import { mysqlConfig } from '../../../lib/storage/mysql/connections/mysql-config.js';
import { MysqlSession } from '../../../lib/storage/mysql/connections/mysql-session.js';
import { SharedMysqlSessions } from '../../../lib/storage/mysql/connections/shared-sessions.js';
import { lockName } from '../../../lib/storage/mysql/lock-name.js';
import { Arrivals } from '../../support/arrivals.js';
import {
  createMysqlDatabase,
  mysqlStartMs,
  type MysqlFlavour,
  type MysqlTestDatabase,
} from '../../support/mysql.js';
import { forkChild, type Child } from '../../support/processes.js';
import { until } from '../../support/waiting.js';

/** So that nobody waits for half a minute. */
const timing = { silentSeconds: 3, proofMs: 500 };
const key = 'key:1';

/** What holds locks, on a real server. */
export function describeMysqlSession(flavour: MysqlFlavour): void {
  let database: MysqlTestDatabase;

  beforeAll(async () => {
    database = await createMysqlDatabase(flavour);
  }, mysqlStartMs);
  afterAll(() => database?.drop());

  /** The session that holds the lock. */
  async function holder(of = key): Promise<string | undefined> {
    const [rows] = await database.pool.query<(RowDataPacket & { readonly id: string | number | null })[]>(
      'select is_used_lock(?) as id',
      [lockName(of)],
    );
    const id = rows[0]?.id ?? undefined;
    return id === undefined ? undefined : String(id);
  }

  async function open(
    url = database.url,
    silentSeconds = timing.silentSeconds,
  ): Promise<{ session: MysqlSession; told: Arrivals<string> }> {
    const session = new MysqlSession(mysqlConfig(url), { ...timing, silentSeconds });
    const told = new Arrivals<string>();
    const watcher: SessionWatcher = {
      lost: () => told.add('lost'),
      restored: () => told.add('restored'),
    };
    onTestFinished(() => session.stop());
    session.watch(watcher);
    await session.start();
    return { session, told };
  }

  async function startChild(silentSeconds = timing.silentSeconds): Promise<Child> {
    const child = forkChild('mysql-session', {
      env: { DATABASE_URL: database.url, SILENT_SECONDS: String(silentSeconds) },
    });
    onTestFinished(async () => void (await child.kill('SIGKILL')));
    await child.message('ready');
    return child;
  }

  test('a session that leaves its server holds its locks on a new connection', async () => {
    const { session, told } = await open();
    await session.hold(key);
    const before = await holder();
    session.leave(new Error('the server was replaced'));
    expect([await told.next(), await told.next()]).toEqual(['lost', 'restored']);
    expect(await holder()).not.toBe(before);
    expect(await session.tryLock(key)).toBe(false);
  });

  test('a lock is held by one session, and free after its end', async () => {
    const { session } = await open();
    const { session: other } = await open();
    await session.hold(key);
    expect(await other.hold(key)).toBe(false);
    expect(await other.tryLock(key)).toBe(false);
    await session.stop();
    await until(async () => (await holder()) === undefined, 'it is free');
    expect(await other.tryLock(key)).toBe(true);
    expect(await other.tryLock(key)).toBe(false);
    await other.unlock(key);
    expect(await holder()).toBeUndefined();
  });

  test('what was held is taken again after a reconnect, and what was tried is not', async () => {
    const { session, told } = await open();
    await session.hold(key);
    await session.tryLock('key:2');
    const before = await holder();
    await database.pool.query(`kill ${before}`);
    expect([await told.next(), session.up]).toEqual(['lost', false]);
    expect([await told.next(), session.up]).toEqual(['restored', true]);
    expect(session.steadyMs).toBeLessThan(Infinity);
    expect(await holder()).not.toBe(before);
    expect(await holder()).toBeDefined();
    expect(await holder('key:2')).toBeUndefined();
    expect(await session.tryLock('key:2')).toBe(true);
  });

  test('a network that is silent is noticed, and the lock is taken from what the server still has of it', async () => {
    const network = await startNetwork(database.url);
    const { session, told } = await open(network.url, 3_600);
    await session.hold(key);
    const before = await holder();
    network.silence();
    expect(await told.next()).toBe('lost');
    expect(await told.next()).toBe('restored');
    expect(await holder()).not.toBe(before);
    expect(await holder()).toBeDefined();
  });

  test('one that cannot come back knows what failed last', async () => {
    const wire = await startNetwork(database.url);
    const { session, told } = await open(wire.url);
    expect(session.failure).toBeUndefined();
    wire.cut();
    expect(await told.next()).toBe('lost');
    await until(async () => String(session.failure).includes('ECONNREFUSED'), 'it is told why');
    expect(session.up).toBe(false);
  });

  test('a first connection that fails is told as the driver tells it', async () => {
    const session = new MysqlSession({ ...mysqlConfig(database.url), port: 1 }, timing);
    await expect(session.start()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await session.stop();
  });

  test('the queues of a process share a session until the last one closes it', async () => {
    const sessions = new SharedMysqlSessions();
    const [one, other] = [1, 2].map(() => sessions.use('same', mysqlConfig(database.url)));
    const [first, second] = [await one?.open(), await other?.open()];
    expect(second).toBe(first);
    await one?.close();
    await one?.close();
    expect(first?.up).toBe(true);
    await other?.close();
    expect(first?.up).toBe(false);
  });

  test('an event loop that is blocked loses no lock', async () => {
    const child = await startChild();
    const before = await holder();
    child.send('block');
    const free = await child.message('free');
    expect(free['up']).toBe(true);
    expect(await holder()).toBe(before);
    expect(child.messages.map(({ type }) => type)).toEqual(['ready', 'free']);
  });

  test('a process that stands still loses its locks, does not trust in them, and takes them again', async () => {
    const child = await startChild();
    const before = await holder();
    child.process.kill('SIGSTOP');
    await until(async () => (await holder()) === undefined, 'the server has freed it');
    child.send('up');
    child.process.kill('SIGCONT');
    expect((await child.message('up'))['up']).toBe(false);
    await child.message('lost');
    expect((await child.message('restored'))['up']).toBe(true);
    expect(await holder()).not.toBe(before);
    expect(await holder()).toBeDefined();
  });

  test('the locks of a killed process are free at once, and one that is told to stop ends', async () => {
    const killed = await startChild(3_600);
    await killed.kill('SIGKILL');
    await until(async () => (await holder()) === undefined, 'it is free');
    const child = await startChild();
    child.send('stop');
    expect(await child.exit).toEqual({ code: 0, signal: null });
    expect(await holder()).toBeUndefined();
  });
}

/** A network before the server whose connections can fall silent, new ones getting through, or be cut with all that follow. */
async function startNetwork(
  url: string,
): Promise<{ readonly url: string; readonly silence: () => void; readonly cut: () => void }> {
  const address = new URL(url);
  const port = Number(address.port);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(port, address.hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
    near.pipe(far).on('close', () => near.destroy());
    far.pipe(near).on('close', () => far.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  address.port = String((server.address() as AddressInfo).port);
  return {
    url: address.href,
    cut: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
    silence: () => {
      for (const socket of sockets) socket.unpipe().removeAllListeners('close').pause();
    },
  };
}
