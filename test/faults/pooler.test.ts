import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { Subscriber, type QueueEventMap, type QueueModuleOptions } from '../../lib/index.js';
import { connectionNames } from '../support/connections.js';
import { useDatabase } from '../support/database.js';
import { startProxy } from '../support/database-proxy.js';
import { holdTimers } from '../support/held-timers.js';
import { LogLines } from '../support/log-lines.js';
import { createQueue, startApp } from '../support/queue-app.js';
import type { Child } from '../support/processes.js';
import { healthModule, healthOf, stalledOnPage } from '../support/stall-signs.js';
import { nextEvent, until } from '../support/waiting.js';
import { createAuthority } from '../webhooks/kit/certificates.js';
import { createEffectTable, forkWorker } from '../support/worker-process.js';
import { startPgBouncer, type PgBouncer } from './kit/pgbouncer.js';

// Over a minute: leases are renewed and run out by the clocks of the server and of a thread, which no test can set forward, and
// twice one is waited for. Behind a pooler they are all that keeps two workers from running one task.

const recovery = { intervalMs: 200, confirmMs: 200, graceMs: 0 };

const database = await useDatabase();
let bouncer: PgBouncer;
let sessions: PgBouncer;
let workers: Child[] = [];

beforeAll(async () => {
  [bouncer, sessions] = await Promise.all([
    startPgBouncer(database, 'transaction'),
    startPgBouncer(database, 'session'),
  ]);
  await createEffectTable(database);
  await createQueue(database);
});

afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.kill('SIGKILL')));
  workers = [];
  await database.pool.query('truncate tasks, effect');
});

afterAll(() => Promise.all([bouncer.stop(), sessions.stop()]));

async function start(options: QueueModuleOptions, address: { url: string } = bouncer): Promise<Child> {
  const worker = forkWorker(address, { recovery, ...options });
  workers.push(worker);
  await worker.message('ready');
  return worker;
}

async function insertMany(count: number): Promise<void> {
  await database.pool.query(
    `insert into tasks (processo, payload) select 'effect', '{"ms": 5}' from generate_series(1, $1::int)`,
    [count],
  );
}

/** A pooler for a role that may only use the queue, until the test ends. */
async function startAsRole(): Promise<{ readonly role: string; readonly asRole: PgBouncer }> {
  const role = `guarded_${randomBytes(6).toString('hex')}`;
  await database.pool
    .query(`create role ${role} login password 'secret'; grant usage on schema public to ${role};
    grant select, insert, update, delete on all tables in schema public to ${role};
    grant usage on all sequences in schema public to ${role}`);
  const url = new URL(database.url);
  Object.assign(url, { username: role, password: 'secret' });
  const asRole = await startPgBouncer({ url: url.href }, 'transaction');
  onTestFinished(async () => {
    await asRole.stop();
    await database.pool.query(`drop owned by ${role}; drop role ${role}`);
  });
  return { role, asRole };
}

/** Waits until every task has left its one effect. */
async function allDone(count: number): Promise<void> {
  const read = async () =>
    (
      await database.pool.query<{ done: number; effects: number; roots: number; attempts: number }>(
        `select (select count(*)::int from tasks where status = 'sucesso') as done,
           (select count(*)::int from effect) as effects, (select count(distinct task_root)::int from effect) as roots,
           (select count(*)::int from tasks) as attempts`,
      )
    ).rows[0];
  await until(async () => (await read())?.done === count, `${count} tasks are done`, 25_000);
  expect(await read()).toEqual({ done: count, effects: count, roots: count, attempts: count });
}

test('with a sessionConnection only handlers and inserts go through the pooler, and rings arrive', async () => {
  // A poll would come too late for the test.
  const options = { sessionConnection: database.url, pollIntervalMs: 0 };
  await Promise.all([start(options), start(options)]);
  await insertMany(200);
  await allDone(200);
  expect(await connectionNames(database)).toEqual(
    expect.arrayContaining(['tarefa session', 'tarefa tasks control', 'tarefa tasks pool']),
  );
  expect(workers.map(({ stderr }) => stderr).join('')).not.toContain('pooler');
});

test('without one they poll, hold a lease, and say so', async () => {
  await Promise.all([start({}), start({})]);
  await insertMany(200);
  await allDone(200);
  for (const { stderr, stdout } of workers) expect(stderr + stdout).toContain('Set sessionConnection');
  expect(await connectionNames(database)).not.toContain('tarefa session');
});

test('a killed worker behind the pooler is found when its lease has run out, and its task runs again', async () => {
  const victim = await start({});
  await database.pool.query(`insert into tasks (processo, payload) values ('hold', '{}')`);
  await victim.message('started');
  const survivor = await start({});
  await victim.kill('SIGKILL');
  await survivor.message('recovered', 30_000);
  await survivor.message('started');
  survivor.send('release');
  await until(
    async () => (await database.pool.query(`select from tasks where status = 'sucesso'`)).rowCount === 1,
    'its second attempt ends',
  );
  expect((await database.pool.query('select attempt from effect')).rows).toEqual([{ attempt: 2 }]);
}, 60_000);

test('a handler that blocks the event loop for longer than the lease loses nothing', async () => {
  const worker = await start({});
  const observer = await start({});
  await database.pool.query(`insert into tasks (processo, payload) values ('block', '{"ms": 14000}')`);
  const holder = await Promise.race([
    worker.message('unblocked', 40_000),
    observer.message('unblocked', 40_000),
  ]);
  expect(holder.type).toBe('unblocked');
  await allDone(1);
  for (const { messages } of workers) expect(messages.filter(({ type }) => type === 'recovered')).toEqual([]);
}, 60_000);

test('workers with sessions and workers with leases know of each other', async () => {
  const leased = await start({ recovery: false });
  await database.pool.query(`insert into tasks (processo, payload) values ('hold', '{}')`);
  await leased.message('started');
  const direct = await start({}, database);
  const other = await start({});
  // Long enough for several looks of both.
  await insertMany(20);
  await until(
    async () => (await database.pool.query(`select from tasks where status = 'sucesso'`)).rowCount === 20,
    'the others run',
  );
  await until(async () => {
    const { rows } = await database.pool.query<{ looks: number }>(
      `select extract(epoch from clock_timestamp() - max(started_at))::float8 as looks from tasks_worker`,
    );
    return (rows[0]?.looks ?? 0) > 2;
  }, 'two seconds of looks');
  for (const { messages } of [direct, other]) {
    expect(messages.filter(({ type }) => type === 'recovered')).toEqual([]);
  }
  leased.send('release');
  await allDone(21);
}, 60_000);

test('a pooler in session mode is as good as a direct connection, when it is named so', async () => {
  await start({ sessionConnection: sessions.url, pollIntervalMs: 0 }, sessions);
  await insertMany(50);
  await allDone(50);
  expect(await connectionNames(database)).toContain('tarefa session');
});

test('a sessionConnection through a pooler in transaction mode is refused at start', async () => {
  await expect(startApp(bouncer, { sessionConnection: bouncer.url })).rejects.toMatchObject({
    code: 'OPTIONS_INVALID',
    message: expect.stringContaining('sessionConnection goes through a pooler') as unknown,
  });
});

test('a client certificate opens the pooler to the thread that keeps the lease as well', async () => {
  const authority = createAuthority('Pooler');
  const server = authority.issue(['127.0.0.1']);
  const guarded = await startPgBouncer(database, 'transaction', { ca: authority.ca, ...server });
  onTestFinished(() => guarded.stop());
  const { hostname, port, username, password, pathname } = new URL(guarded.url);
  const ssl = { ca: authority.ca, ...authority.issue(['worker']) };
  const connection = {
    host: hostname,
    port: Number(port),
    user: username,
    password: decodeURIComponent(password),
    database: pathname.slice(1),
    ssl,
  };
  const { events, worker, close } = await startApp(guarded, { connection });
  onTestFinished(close);
  const lost: string[] = [];
  events.on('connection.lost', ({ connection: name, error }) => lost.push(`${name}: ${String(error)}`));
  const leaseOf = async (): Promise<number> =>
    (
      await database.pool.query<{ at: number }>(
        'select extract(epoch from lease_until)::float8 as at from tasks_worker where id = $1',
        [worker.id],
      )
    ).rows[0]?.at ?? 0;
  // Those that come now are the thread's.
  let [renewals, at] = [0, await leaseOf()];
  await until(async () => {
    const now = await leaseOf();
    if (now > at) renewals += 1;
    at = now;
    return renewals >= 2;
  }, 'the thread renews the lease');
  expect(lost).toEqual([]);
});

test('a lease that cannot be renewed is told once a minute, in the log, as an event, in health and on the page', async () => {
  const { role, asRole } = await startAsRole();
  const logger = new LogLines();
  // What watches the worker is the only thing here that counts in minutes.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const app = await startApp(asRole, {
    imports: [healthModule],
    schema: 'check',
    recovery: false,
    dashboard: {},
    logger,
  });
  const { events, worker, close } = app;
  onTestFinished(async () => {
    await close();
    vi.useRealTimers();
  });
  const told: QueueEventMap['worker.stalled'][] = [];
  events.on('worker.stalled', (event) => told.push(event));
  expect(await healthOf(app)).toMatchObject({ status: 'up' });
  const lost = nextEvent(events, 'connection.lost', ({ connection }) => connection === 'lease');
  await database.pool.query(`revoke update on tasks_worker from ${role}`);
  await lost;
  // It holds until it runs out.
  await until(
    async () => {
      vi.advanceTimersByTime(10_000);
      return worker.stalled;
    },
    'the worker stands still',
    25_000,
  );
  const reason =
    'others may consider it lost, because its lease is down: permission denied for table tasks_worker';
  expect(told).toEqual([{ workerId: worker.id, reason, forMs: 60_000 }]);
  expect(logger.of('error').at(-1)).toBe(
    `worker ${worker.id} has been stalled for 60 s and takes no tasks: ${reason}`,
  );
  expect(await healthOf(app)).toMatchObject({
    status: 'down',
    message: `the worker takes no tasks: ${reason}`,
  });
  expect(await stalledOnPage(app)).toMatchObject([{ workerId: worker.id, reason }]);
  vi.advanceTimersByTime(60_000);
  expect(told.map(({ forMs }) => forMs)).toEqual([60_000, 120_000]);

  const restored = nextEvent(events, 'connection.restored', ({ connection }) => connection === 'lease');
  await database.pool.query(`grant update on tasks_worker to ${role}`);
  await restored;
  expect(worker.stalled).toBeUndefined();
  expect(await healthOf(app)).toMatchObject({ status: 'up' });
  expect(await stalledOnPage(app)).toEqual([]);
}, 60_000);

test('policies that come later stop a worker that no statement of its tells of them', async () => {
  class Handlers {
    @Subscriber('crm', { topic: 'paid' })
    crm(): void {}
  }
  const { asRole } = await startAsRole();
  await database.pool.query(`insert into tasks_subscriber (id, processo) values ('crm', 'paid')`);
  // What watches the worker is the only thing here that counts in minutes.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const { events, worker, close } = await startApp(asRole, {
    handlers: [Handlers],
    schema: 'check',
    recovery: false,
  });
  onTestFinished(async () => {
    await close();
    vi.useRealTimers();
    await database.pool.query('truncate tasks_subscriber');
  });
  await database.pool.query('alter table tasks_subscriber enable row level security');
  await until(async () => {
    vi.advanceTimersByTime(10_000);
    return worker.stalled;
  }, 'the worker stands still');
  expect(worker.stalled?.reason).toBe(
    'row-level security decides which rows of "public"."tasks_subscriber" it may see',
  );
  const delivered = nextEvent(events, 'publication.delivered');
  await database.pool.query(`insert into tasks (processo, payload, pub_sub) values ('paid', '{}', true)`);
  await database.pool.query('alter table tasks_subscriber disable row level security');
  vi.advanceTimersByTime(60_000);
  expect(await delivered).toMatchObject({ deliveries: 1 });
});

test('a producer behind the pooler needs nothing else', async () => {
  const producer = await startApp(bouncer, { worker: false });
  const ids = await Promise.all(
    Array.from({ length: 50 }, () => producer.queue.insertTask({ topic: 'effect', payload: {} })),
  );
  expect(new Set(ids).size).toBe(50);
  await producer.close();
  await start({}, database);
  await allDone(50);
});

test('an insert on a connection that fell silent fails, though the pooler hides what the server does, and the next one works', async () => {
  const proxy = await startProxy(bouncer);
  onTestFinished(() => proxy.close());
  const { queue, close } = await startApp(bouncer, { connection: proxy.url, worker: false });
  onTestFinished(close);
  await queue.insertTask({ topic: 'early' });
  const timers = holdTimers((ms) => ms === 30_000 || ms === 5_000);
  const silence = proxy.forget();
  const outcome = queue.insertTask({ topic: 'lost' }).catch((error: unknown) => error);
  let isOver = false;
  void outcome.then(() => (isOver = true));
  await silence.hit;
  await until(async () => {
    if (!isOver && timers.waiting > 0) timers.ringFirst();
    return isOver;
  }, 'the insert fails');
  expect(await outcome).toMatchObject({
    code: 'CONNECTION_LOST',
    message: expect.stringContaining('no answer in 315 s') as unknown,
  });
  timers.release();
  expect(await queue.insertTask({ topic: 'late' })).toEqual(expect.any(String));
});

test('beside Python workers a pooler needs a sessionConnection, where the locks are', async () => {
  const interop = { schema: 'check', interop: 'nsj', worker: true } as const;
  await expect(startApp(database, { ...interop, connection: bouncer.url })).rejects.toThrow(
    /sessionConnection/,
  );
  await start({ ...interop, sessionConnection: database.url });
  await insertMany(20);
  await allDone(20);
});
