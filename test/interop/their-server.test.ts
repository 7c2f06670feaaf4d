import { expect, onTestFinished, test, vi } from 'vitest';
import { DeadTaskHandler, Subscriber, TaskHandler, type TaskContext } from '../../lib/index.js';
import { ServerLocks } from '../../lib/coordination/tcp/server-locks.js';
import { NsjSocket } from '../coordination/tcp/nsj-socket.js';
import { useDatabase } from '../support/database.js';
import { startApp } from '../support/queue-app.js';
import { deferred, until } from '../support/waiting.js';
import { ServerLocks as TheirLocks } from './nsj-locks.js';
import { NsjServer } from './nsj-server.js';
import { NsjWorker } from './nsj-worker.js';
import { startNotifiedNsj } from './notified-nsj.js';

const { pool, url } = await useDatabase();
const total = { tasks: 100, publications: 20, fatal: 4 };

const count = async (text: string): Promise<number> =>
  (await pool.query<{ n: number }>(`select count(*)::int as n from ${text}`)).rows[0]?.n ?? 0;
const unfinished = (): Promise<number> =>
  count(`tasks where status in ('pendente', 'agendada', 'processando')`);

const startServer = (): Promise<NsjServer> =>
  NsjServer.start({
    areDue: async () =>
      (await count(`tasks where status = 'pendente' and data_hora <= clock_timestamp()`)) > 0,
  });

class Ours {
  @TaskHandler()
  async run(_payload: unknown, { db, task }: TaskContext): Promise<void> {
    await db.query('insert into effects values ($1, $2)', [`task ${task.firstAttemptId}`, 'ours']);
  }

  @Subscriber('stock')
  @Subscriber('mail')
  async deliver(_payload: unknown, { db, task }: TaskContext): Promise<void> {
    await db.query('insert into effects values ($1, $2)', [
      `delivery ${task.publicationId} ${task.subscriptionId}`,
      'ours',
    ]);
  }

  @DeadTaskHandler()
  bury(): void {}
}

test('workers of both kinds share the server of nsj-queue-lib: everything runs once, however theirs die', async () => {
  const first = await startApp({ url }, { worker: false });
  await first.close();
  await pool.query('create table effects (what text, kind text)');
  await pool.query(`insert into tasks_subscriber (id, processo) values ('stock', 'sold'), ('mail', 'sold')`);
  await pool.query(
    `insert into tasks (processo, payload, pub_sub, data_hora)
     select 'quick', '{}', false, clock_timestamp() + (n % 3) * interval '100 ms' from generate_series(1, $1::int) n
     union all select 'sold', '{}', true, clock_timestamp() from generate_series(1, $2::int)
     union all select 'fatal', '{}', false, clock_timestamp() from generate_series(1, $3::int)`,
    [total.tasks, total.publications, total.fatal],
  );
  const server = await startServer();
  const variables = {
    CLIENT_SERVER_MODE: 'TRUE',
    NOTIFY_SERVICE_PORT: String(server.notifyPort),
    LOCK_SERVICE_PORT: String(server.lockPort),
  };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  for (let n = 0; n < 3; n += 1) await startNotifiedNsj(url, server, 10);
  const { close } = await startApp(
    { url },
    { handlers: [Ours], interop: 'nsj', concurrency: 2, maxAttempts: 10 },
  );
  onTestFinished(close);
  const locks = await TheirLocks.open({ notifyPort: server.lockPort, lockPort: server.lockPort });
  const jobs = await NsjWorker.start(url, () => Promise.resolve('done'), { locks, maxAttempts: 10 });
  onTestFinished(() => jobs.kill());
  await until(async () => {
    await jobs.retryCrashed();
    await jobs.promote();
    return (await unfinished()) === 0;
  }, 'everything to end');
  const { rows } = await pool.query<{ what: string; n: number }>(
    'select what, count(*)::int as n from effects group by what',
  );
  expect(rows.filter(({ n }) => n !== 1)).toEqual([]);
  expect(rows).toHaveLength(total.tasks + 2 * total.publications + total.fatal);
  expect(await count(`tasks where dead`)).toBe(0);
});

/** Locks of a process that has joined, and when it says that it has lost the server. */
async function join(
  server: NsjServer,
  messageTimeoutMs: number,
): Promise<{ locks: ServerLocks; lost: Promise<void> }> {
  const lost = deferred();
  const { notifyPort, lockPort } = server;
  const locks = new ServerLocks({ host: '127.0.0.1', notifyPort, lockPort, messageTimeoutMs }, (problem) => {
    if (problem !== undefined) lost.resolve();
  });
  onTestFinished(() => locks.close());
  locks.join('7');
  await until(async () => locks.isJoined, 'the server to hear it');
  return { locks, lost: lost.promise };
}

test('a process that stood still takes no answer for that of another call: it connects again, and locks what it held', async () => {
  const server = await NsjServer.start({ areDue: async () => true, timeoutMs: 1_000 });
  const { locks, lost } = await join(server, 1_000);
  expect(await locks.take(['17'])).toEqual(new Set(['17']));
  const until1 = performance.now() + 1_100;
  while (performance.now() < until1);
  // The server has answered the last call again by now: this one would be told that it has the lock.
  expect(await locks.take(['18'])).toEqual(new Set());
  await lost;
  await until(async () => locks.isJoined, 'the server to hear it again');
  const other = await NsjSocket.open(server.lockPort);
  expect(await other.call('try_lock(17)')).toBe('False');
  expect(await other.call('try_lock(18)')).toBe('True');
  expect(await locks.keep(['17', '18'])).toBe(false);
  await other.call('release_lock(18)');
  expect(await locks.keep(['17', '18'])).toBe(true);
  expect(await other.call('try_lock(18)')).toBe('False');
});

test('before the server hears it, a process takes no task and no turn, but where somebody waits for it', async () => {
  const server = await NsjServer.start({ areDue: async () => false });
  const { notifyPort, lockPort } = server;
  const place = { host: '127.0.0.1', notifyPort, lockPort, messageTimeoutMs: 5_000 };
  const locks = new ServerLocks(place, () => undefined);
  onTestFinished(() => locks.close());
  locks.join('7');
  expect(await locks.take(['17'])).toEqual(new Set());
  const other = await NsjSocket.open(server.lockPort);
  expect(await other.call('try_lock(3)')).toBe('True');
  expect(await locks.waitInTurn(async () => 'done', 1)).toBeUndefined();
  await other.call('release_lock(3)');
  // Killed there it would keep the lock for ever.
  expect(await locks.inTurn(async () => 'done')).toBeUndefined();
  expect(await locks.waitInTurn(() => other.call('try_lock(3)'), 5_000)).toEqual({ result: 'False' });
  expect(await other.call('try_lock(3)')).toBe('True');
});
