import { randomBytes } from 'node:crypto';
import { Module } from '@nestjs/common';
import { HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { QueueWorker, TaskHandler, type QueueEventMap } from '../../lib/index.js';
import { Dashboard } from '../../lib/dashboard/dashboard.js';
import { getPartToken } from '../../lib/options/part-token.js';
import { QueueHealthIndicator } from '../../lib/terminus/index.js';
import { useDatabase } from '../support/database.js';
import { LogLines } from '../support/log-lines.js';
import { startApp, type QueueApp } from '../support/queue-app.js';
import { nextEvent, until } from '../support/waiting.js';

const role = `worker_${randomBytes(6).toString('hex')}`;
const database = await useDatabase();
let app: QueueApp;
const logger = new LogLines();

@Module({ imports: [TerminusModule.forRoot({ logger: false })], providers: [QueueHealthIndicator] })
class HealthModule {}

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
      imports: [{ module: HealthModule }],
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

/** What terminus makes of the worker. */
async function health(): Promise<unknown> {
  const service = app.app.get(HealthCheckService, { strict: false });
  const indicator = app.app.get(QueueHealthIndicator, { strict: false });
  return service.check([() => indicator.isHealthy('queue')]).then(
    ({ details }) => details['queue'],
    (error: { getResponse(): { details: Record<string, unknown> } }) => error.getResponse().details['queue'],
  );
}

/** What the page shows of it. */
async function problems(): Promise<readonly object[]> {
  const dashboard = app.app.get<Dashboard>(getPartToken(undefined, 'dashboard'), { strict: false });
  const { problems: all } = await dashboard.overview.read();
  return all.filter(({ kind }) => kind === 'stalled-worker');
}

test('a session that cannot come back is told once a minute, in the log, as an event, in health and on the page', async () => {
  const { events, worker } = app;
  const told: QueueEventMap['worker.stalled'][] = [];
  events.on('worker.stalled', (event) => told.push(event));
  // A connection for those who look is open from here on.
  expect(await problems()).toEqual([]);
  await database.pool.query(`alter role ${role} nologin`);
  const lost = nextEvent(events, 'connection.lost', ({ connection }) => connection === 'session');
  await database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where usename = $1 and application_name = 'tarefa session'`,
    [role],
  );
  await lost;
  // The first reason was that it was ended; the one that counts is why it does not come back.
  const reason = `others may take it for lost, because its session is down: role "${role}" is not permitted to log in`;
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
    new RegExp(`^worker ${worker.id} has stood still for \\d+ s and takes no tasks: others may take it`),
  );
  expect(await health()).toMatchObject({ status: 'down', message: `the worker takes no tasks: ${reason}` });
  expect(await problems()).toMatchObject([{ workerId: worker.id, reason }]);

  const restored = nextEvent(events, 'connection.restored', ({ connection }) => connection === 'session');
  await database.pool.query(`alter role ${role} login`);
  await restored;
  expect(worker.stalled).toBeUndefined();
  expect(await health()).toMatchObject({ status: 'up' });
  expect(await problems()).toEqual([]);
});

test('a claim that is refused again and again is told likewise', async () => {
  const { events, worker } = app;
  // What was before is over.
  vi.advanceTimersByTime(10_000);
  const troubled = nextEvent(events, 'worker.troubled');
  await database.pool.query(`revoke update on tasks from ${role}`);
  await database.pool.query(`insert into tasks (processo, payload) values ('work', '{}')`);
  await troubled;
  const stalled = nextEvent(events, 'worker.stalled');
  vi.advanceTimersByTime(70_000);
  expect(await stalled).toEqual({
    workerId: worker.id,
    reason: 'its statements fail: permission denied for table tasks',
    forMs: 60_000,
  });
  expect(await health()).toMatchObject({ status: 'down' });
  const recovered = nextEvent(events, 'worker.recovered');
  await database.pool.query(`grant update on tasks to ${role}`);
  await recovered;
  expect(worker.stalled).toBeUndefined();
});

test('a process that only produces has no worker that could stand still', async () => {
  const producer = await startApp(database, { worker: false });
  expect(producer.app.get(QueueWorker).stalled).toBeUndefined();
  await producer.close();
});
