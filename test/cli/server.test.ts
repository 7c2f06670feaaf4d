import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { sessions } from '../../lib/storage/mysql/statement.js';
import { NsjSocket } from '../coordination/tcp/nsj-socket.js';
import { connectTo, useDatabase } from '../support/database.js';
import { createNsjTable } from '../storage/postgres/nsj-table.js';
import { onPostgres, testOnPostgres } from '../support/run-database.js';
import { startApp } from '../support/queue-app.js';
import { until } from '../support/waiting.js';
import { serveByCli, type Served } from './serve.js';
import { runCli } from './support.js';

const database = await useDatabase();
let env: Record<string, string>;

beforeEach(() => {
  env = {
    DATABASE_URL: database.url,
    QUEUE_TABLE: 'tasks',
    NOTIFY_SERVICE_PORT: '0',
    LOCK_SERVICE_PORT: '0',
    CHECK_TASKS_INTERVAL: '0.02',
  };
});

/** What keeps others from reading the table, what shows that somebody waits for it, and what ends that. */
const [block, blocked, unblock] = onPostgres
  ? [
      ['begin', 'lock table tasks in access exclusive mode'],
      `select 1 as one from pg_locks where not granted and relation = 'tasks'::regclass`,
      'rollback',
    ]
  : [
      ['lock tables tasks write'],
      `select 1 as one from ${sessions} where state like 'Waiting for table%'`,
      'unlock tables',
    ];

const serve = (args: readonly string[] = []): Promise<Served> => serveByCli(env, args);

test('makes the tables, wakes a worker when a task is due, keeps its locks, and ends when it is told to', async () => {
  const { notifyPort, lockPort, stop } = await serve();
  const worker = await NsjSocket.open(notifyPort);
  await database.pool.query("insert into tasks (processo) values ('order-placed')");
  await worker.accept();
  expect(await worker.call('try_lock(1)')).toBe('True');
  const routine = await NsjSocket.open(lockPort);
  expect(await routine.call('try_lock(1)')).toBe('False');
  await database.pool.query("update tasks set status = 'sucesso'");
  expect(await worker.call('release_lock(1)')).toBe('True');
  expect(await worker.call('sleep()')).toBe('True');
  const { code, stdout, stderr } = await stop();
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/created .*tasks/);
  await Promise.all([worker.closed, routine.closed]);
});

testOnPostgres('a table of nsj-queue-lib is left as it is, and what adopts it is named', async () => {
  await createNsjTable(database.pool, 'bare');
  const relations = async (): Promise<unknown> =>
    (
      await database.pool.query(
        `select relname, relnatts from pg_class where relname like 'bare%' and relkind in ('r', 'i', 'v') order by 1`,
      )
    ).rows;
  const before = await relations();
  const { code, stderr } = await runCli(['server'], { env: { ...env, QUEUE_TABLE: 'bare' } });
  expect([code, stderr]).toEqual([2, expect.stringContaining('run `npx tarefa adopt public.bare` first')]);
  expect(await relations()).toEqual(before);
});

test('workers let go at once, however long a look for due tasks takes', async () => {
  const { notifyPort, stop } = await serve();
  const worker = await NsjSocket.open(notifyPort);
  expect(await worker.call('nothing')).toBe('False');
  const lock = await connectTo(database);
  onTestFinished(() => lock.end());
  for (const statement of block) await lock.query(statement);
  await until(async () => (await database.pool.query(blocked)).rows.length > 0, 'a look that waits');
  const stopped = stop();
  await worker.closed;
  expect((await database.pool.query(blocked)).rows).not.toEqual([]);
  await lock.query(unblock);
  expect((await stopped).code).toBe(0);
});

test('while a worker of this library lives, no other gets a lock, which is said once', async () => {
  // Before the server, because the application begun last has the log of the process.
  const app = await startApp(database, { handlers: [] });
  onTestFinished(() => app.close());
  const { lockPort, stop } = await serve();
  const routine = await NsjSocket.open(lockPort);
  for (const lock of [1, 2]) expect(await routine.call(`try_lock(${lock})`)).toBe('False');
  await app.close();
  expect(await routine.call('try_lock(1)')).toBe('True');
  const { stdout } = await stop();
  const told = /grants no locks to workers of nsj-queue-lib: process \d+ on \S+ has a worker of the queue/g;
  expect([...stdout.matchAll(told)]).toHaveLength(1);
  expect(stdout).toContain('the server grants locks to workers of nsj-queue-lib again');
});

test('what was locked before a worker of this library began stays so until it is released', async () => {
  const { lockPort, stop } = await serve();
  const [routine, other] = [await NsjSocket.open(lockPort), await NsjSocket.open(lockPort)];
  expect(await routine.call('try_lock(1)')).toBe('True');
  const app = await startApp(database, { handlers: [] });
  onTestFinished(() => app.close());
  expect(await other.call('release_lock(1)')).toBe('False');
  expect(await routine.call('release_lock(1)')).toBe('True');
  expect(await other.call('try_lock(1)')).toBe('False');
  await stop();
});

test('a process that has a worker itself gives no locks, though its worker has not begun', async () => {
  const { notifyPort, lockPort, stop } = await serve();
  await stop();
  const app = await startApp(database, { server: { notifyPort, lockPort }, autoStart: false });
  onTestFinished(() => app.close());
  const worker = await NsjSocket.open(notifyPort);
  for (const lock of [1, 2]) expect(await worker.call(`try_lock(${lock})`)).toBe('False');
});

test('an application that only serves gives locks', async () => {
  const { notifyPort, lockPort, stop } = await serve();
  await stop();
  const app = await startApp(database, { server: { notifyPort, lockPort }, worker: false });
  onTestFinished(() => app.close());
  const [routine, other] = [await NsjSocket.open(lockPort), await NsjSocket.open(lockPort)];
  expect(await routine.call('try_lock(1)')).toBe('True');
  expect(await other.call('try_lock(1)')).toBe('False');
});

test('tasks that are not due wake nobody', async () => {
  const { notifyPort, stop } = await serve(['--check-interval', '0.01']);
  await database.pool.query('truncate tasks');
  const worker = await NsjSocket.open(notifyPort);
  expect(await worker.call('nothing')).toBe('False');
  await database.pool.query(
    `insert into tasks (processo, status, data_hora) values ('a', 'agendada', '2099-01-01 00:00:00')`,
  );
  for (let count = 0; count < 20; count += 1) {
    await database.pool.query('select 1');
    expect(await worker.call('nothing')).toBe('False');
  }
  await database.pool.query("insert into tasks (processo) values ('b')");
  await worker.accept();
  expect(await worker.call('sleep()')).toBe('True');
  expect((await stop()).code).toBe(0);
  await database.pool.query('delete from tasks');
});

test('the variables of nsj-queue-lib count', async () => {
  const before = await serve();
  const { notifyPort, lockPort } = before;
  await before.stop();
  Object.assign(env, {
    NOTIFY_SERVICE_PORT: String(notifyPort),
    LOCK_SERVICE_PORT: String(lockPort),
    MAX_CLIENT_THREADS: '1',
    TIMEOUT_SOCKET_MESSAGE: '0.1',
    LOCK_SERVICE_WAIT_CONN_INTERVAL: '0.1',
  });
  const served = await serve();
  expect(served).toMatchObject({ notifyPort, lockPort });
  const worker = await NsjSocket.open(notifyPort);
  expect(await worker.call('nothing')).toBe('False');
  // One too many, one that says nothing, and one that does not end its message.
  await (
    await NsjSocket.open(notifyPort)
  ).closed;
  await (
    await NsjSocket.open(lockPort)
  ).closed;
  worker.write('try_lock(');
  await worker.closed;
  expect((await served.stop()).code).toBe(0);
});

test('options stand above variables', async () => {
  env['MAX_CLIENT_THREADS'] = '5';
  const { notifyPort, stop } = await serve(['--max-clients', '1']);
  const first = await NsjSocket.open(notifyPort);
  await first.call('nothing');
  await (
    await NsjSocket.open(notifyPort)
  ).closed;
  const { stdout } = await stop();
  expect(stdout).toMatch(/refused a client from 127\.0\.0\.1: 1 clients are connected to port \d+/);
});

test('an address that others reach has to be said twice, and is warned of', async () => {
  const refused = await runCli(['server', '--host', '0.0.0.0'], { env });
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining('server.allowUnauthenticated: true'),
  ]);
  const { notifyPort, stop } = await serve(['--host', '0.0.0.0', '--allow-unauthenticated']);
  expect(await (await NsjSocket.open(notifyPort)).call('nothing')).toBe('False');
  const { code, stdout } = await stop();
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /WARN .*listens on 0\.0\.0\.0, and its protocol has neither authentication nor encryption/,
  );
});

test('ports that another program has are named', async () => {
  const { lockPort, stop } = await serve();
  const { code, stderr } = await runCli(['server', '--notify-port', String(lockPort)], { env });
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(
      /cannot listen: .*EADDRINUSE.*\. Is another server already running here\? Free the ports \d+ and 0/,
    ),
  ]);
  expect((await stop()).code).toBe(0);
});

test.each<[readonly string[], RegExp]>([
  [['server', 'now'], /unexpected argument "now"/],
  [['server', '--max-clients', '0'], /--max-clients must be a whole number from 1 to 10000/],
  [['server', '--check-interval', 'often'], /--check-interval must be a number/],
])('%j is refused', async (args, message) => {
  const { code, stderr } = await runCli(args, { env });
  expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
});
