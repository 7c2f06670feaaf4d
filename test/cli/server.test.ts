import { beforeEach, expect, test } from 'vitest';
import { NsjSocket } from '../coordination/tcp/nsj-socket.js';
import { useDatabase } from '../support/database.js';
import { deferred } from '../support/waiting.js';
import { runCli, type CliResult } from './support.js';

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

interface Served {
  readonly notifyPort: number;
  readonly lockPort: number;
  readonly stop: () => Promise<CliResult>;
}

/** A server of this process, once it listens. */
async function serve(args: readonly string[] = []): Promise<Served> {
  const controller = new AbortController();
  const listening = deferred<readonly number[]>();
  const onOutput = (text: string): void => {
    const [, notify, lock] = /listens on \S+: port (\d+) for workers, port (\d+) for locks/.exec(text) ?? [];
    if (lock !== undefined) listening.resolve([Number(notify), Number(lock)]);
  };
  const ended = runCli(['server', ...args], { env, signal: controller.signal, onOutput });
  const failed = ended.then((result) => Promise.reject(new Error(`ended: ${JSON.stringify(result)}`)));
  const [notifyPort = 0, lockPort = 0] = await Promise.race([listening.promise, failed]);
  const stop = (): Promise<CliResult> => {
    controller.abort();
    return ended;
  };
  return { notifyPort, lockPort, stop };
}

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
  expect(stdout).toMatch(/made .*tasks/);
  await Promise.all([worker.closed, routine.closed]);
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
  expect(stdout).toMatch(/refused a client from 127\.0\.0\.1: 1 are connected to port \d+/);
});

test('an address that others reach has to be said twice, and is warned of', async () => {
  const refused = await runCli(['server', '--host', '0.0.0.0'], { env });
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringContaining('server.unauthenticated: true'),
  ]);
  const { notifyPort, stop } = await serve(['--host', '0.0.0.0', '--unauthenticated']);
  expect(await (await NsjSocket.open(notifyPort)).call('nothing')).toBe('False');
  const { code, stdout } = await stop();
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /WARN .*listens on 0\.0\.0\.0, and its wire has neither authentication nor encryption/,
  );
});

test('ports that another program has are named', async () => {
  const { lockPort, stop } = await serve();
  const { code, stderr } = await runCli(['server', '--notify-port', String(lockPort)], { env });
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(
      /cannot listen \(.*EADDRINUSE.*\): is another one running here\? Free the ports \d+ and 0/,
    ),
  ]);
  expect((await stop()).code).toBe(0);
});

test.each<[readonly string[], RegExp]>([
  [['server', 'now'], /what is "now"\?/],
  [['server', '--max-clients', '0'], /--max-clients must be a whole number from 1 to 10000/],
  [['server', '--check-interval', 'often'], /--check-interval must be a number/],
])('%j is refused', async (args, message) => {
  const { code, stderr } = await runCli(args, { env });
  expect([code, stderr]).toEqual([1, expect.stringMatching(message)]);
});
