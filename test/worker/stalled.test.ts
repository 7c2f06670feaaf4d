import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { QueueWorker, TaskHandler, type QueueEventMap } from '../../lib/index.js';
import { useDatabase } from '../support/database.js';
import { LogLines } from '../support/log-lines.js';
import { startApp, type QueueApp } from '../support/queue-app.js';
import { acceptRows, refuseRows } from '../support/refusing-trigger.js';
import { healthModule, healthOf, stalledOnPage } from '../support/stall-signs.js';
import { nextEvent, until } from '../support/waiting.js';

const role = `worker_${randomBytes(6).toString('hex')}`;
const database = await useDatabase();
let app: QueueApp;
const logger = new LogLines();

class Handlers {
  @TaskHandler('work')
  work(): void {}
}

beforeAll(async () => {
  await (await startApp(database, { handlers: [Handlers] })).close();
  await database.pool
    .query(`create role ${role} login password 'secret'; grant usage on schema public to ${role};
    grant select, insert, update, delete on all tables in schema public to ${role};
    grant usage on all sequences in schema public to ${role}`);
  const url = new URL(database.url);
  Object.assign(url, { username: role, password: 'secret' });
  // What watches the worker is the only thing here that counts in minutes.
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  app = await startApp(
    { url: url.href },
    {
      handlers: [Handlers],
      imports: [healthModule],
      schema: 'check',
      recovery: false,
      dashboard: {},
      logger,
    },
  );
});

afterEach(() => database.pool.query(`alter role ${role} login`));

afterAll(async () => {
  await app.close();
  vi.useRealTimers();
  await database.pool.query(`drop owned by ${role}; drop role ${role}`);
});

test('a session that cannot come back is told once a minute, in the log, as an event, in health and on the page', async () => {
  const { events, worker } = app;
  const told: QueueEventMap['worker.stalled'][] = [];
  events.on('worker.stalled', (event) => told.push(event));
  // A connection for those who look is open from here on.
  expect(await stalledOnPage(app)).toEqual([]);
  await database.pool.query(`alter role ${role} nologin`);
  const lost = nextEvent(events, 'connection.lost', ({ connection }) => connection === 'session');
  await database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where usename = $1 and application_name = 'tarefa session'`,
    [role],
  );
  await lost;
  // The first reason was that it was ended; the one that counts is why it does not come back.
  const reason = `others may consider it lost, because its session is down: role "${role}" is not permitted to log in`;
  vi.advanceTimersByTime(60_000);
  expect(worker.stalled).toBeUndefined();
  await until(async () => {
    vi.advanceTimersByTime(10_000);
    return worker.stalled?.reason === reason;
  }, 'the reason is known');
  vi.advanceTimersByTime(60_000);
  expect(told.at(-1)).toEqual({ workerId: worker.id, reason, forMs: expect.any(Number) as number });
  expect(told.length).toBeGreaterThanOrEqual(1);
  expect(logger.of('error').at(-1)).toMatch(
    new RegExp(
      `^worker ${worker.id} has been stalled for \\d+ s and takes no tasks: others may consider it lost`,
    ),
  );
  expect(await healthOf(app)).toMatchObject({
    status: 'down',
    message: `the worker takes no tasks: ${reason}`,
  });
  expect(await stalledOnPage(app)).toMatchObject([{ workerId: worker.id, reason }]);

  const restored = nextEvent(events, 'connection.restored', ({ connection }) => connection === 'session');
  await database.pool.query(`alter role ${role} login`);
  await restored;
  expect(worker.stalled).toBeUndefined();
  expect(await healthOf(app)).toMatchObject({ status: 'up' });
  expect(await stalledOnPage(app)).toEqual([]);
});

test('a claim that is refused again and again is told likewise', async () => {
  const { events, worker } = app;
  // What was before is over.
  vi.advanceTimersByTime(10_000);
  const failing = nextEvent(events, 'worker.error');
  await database.pool.query(`revoke update on tasks from ${role}`);
  await database.pool.query(`insert into tasks (processo, payload) values ('work', '{}')`);
  await failing;
  const stalled = nextEvent(events, 'worker.stalled');
  vi.advanceTimersByTime(70_000);
  expect(await stalled).toEqual({
    workerId: worker.id,
    reason: 'its statements fail: permission denied for table tasks',
    forMs: 60_000,
  });
  expect(await healthOf(app)).toMatchObject({ status: 'down' });
  const recovered = nextEvent(events, 'worker.recovered');
  await database.pool.query(`grant update on tasks to ${role}`);
  await recovered;
  expect(worker.stalled).toBeUndefined();
  await until(
    async () => (await database.pool.query(`select from tasks where status = 'sucesso'`)).rowCount === 1,
    'its task ends',
  );
});

test('a worker whose every row is refused says so likewise, though each row was named once', async () => {
  const { events, worker } = app;
  // What was before is over.
  vi.advanceTimersByTime(10_000);
  await refuseRows(database.pool, { when: 'before update', condition: '1 = 1', message: 'broken' });
  const warned = nextEvent(events, 'warning');
  const { rows } = await database.pool.query<{ id: string }>(
    `insert into tasks (processo, payload) values ('work', '{}') returning id`,
  );
  expect((await warned).message).toContain(`Attempt ${rows[0]?.id} cannot be changed: broken`);
  vi.advanceTimersByTime(10_000);
  expect(worker.stalled).toBeUndefined();
  const stalled = nextEvent(events, 'worker.stalled');
  vi.advanceTimersByTime(60_000);
  const reason =
    'the database refuses every change to the attempts it would claim (1 attempt skipped): broken';
  expect(await stalled).toEqual({ workerId: worker.id, reason, forMs: 60_000 });
  expect(logger.of('error').at(-1)).toContain(`has been stalled for 60 s and takes no tasks: ${reason}`);
  expect(await healthOf(app)).toMatchObject({
    status: 'down',
    message: `the worker takes no tasks: ${reason}`,
  });
  expect(await stalledOnPage(app)).toMatchObject([{ workerId: worker.id, reason }]);

  const completed = nextEvent(events, 'task.completed');
  await acceptRows(database.pool);
  await completed;
  expect(worker.stalled).toBeUndefined();
  expect(await healthOf(app)).toMatchObject({ status: 'up' });
  expect(await stalledOnPage(app)).toEqual([]);
});

test('a process that only produces has no worker that could stand still', async () => {
  const producer = await startApp(database, { worker: false });
  expect(producer.app.get(QueueWorker).stalled).toBeUndefined();
  await producer.close();
});
