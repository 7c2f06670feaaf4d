import { afterEach, expect, test, vi } from 'vitest';
import { SchedulerRegistry, ScheduleModule } from '@nestjs/schedule';
import { Subscriber, TaskHandler, type QueueModuleOptions } from '../../lib/index.js';
import { useDatabase } from '../support/database.js';
import { listen } from '../support/listening.js';
import { LogLines } from '../support/log-lines.js';
import { startApp, type QueueApp, type QueueAppOptions } from '../support/queue-app.js';
import { nextEvent, until } from '../support/waiting.js';

const database = await useDatabase();
const { pool } = database;
let tables = 0;

afterEach(() => {
  vi.unstubAllEnvs();
});

class Handlers {
  @TaskHandler('greet')
  greet(): string {
    return 'hello';
  }

  @TaskHandler('fail')
  fail(): never {
    throw new Error('never works');
  }

  @Subscriber('mail')
  mail(): string {
    return 'sent';
  }
}

/** Starts an application that is configured by the environment, on a table of its own unless it names one. */
async function startWith(
  variables: Readonly<Record<string, string>>,
  options: QueueAppOptions = {},
): Promise<QueueApp & { readonly table: string }> {
  const table = variables['QUEUE_TABLE'] ?? `env_${++tables}`;
  for (const [name, value] of Object.entries({ QUEUE_TABLE: table, ...variables })) vi.stubEnv(name, value);
  const unset: QueueModuleOptions = variables['QUEUE_NAME'] === undefined ? {} : { queue: undefined };
  const app = await startApp(database, { queue: table, handlers: [Handlers], ...unset, ...options });
  return { ...app, table };
}

const address = new URL(database.url);
const connection = {
  HOST: address.hostname,
  PORT: address.port,
  USER: address.username,
  PASS: decodeURIComponent(address.password),
};
const name = address.pathname.slice(1);

test.each<Readonly<Record<string, string>>>([
  {
    DB_HOST: connection.HOST,
    DB_PORT: connection.PORT,
    DB_BASE: name,
    DB_USER: connection.USER,
    DB_PASS: connection.PASS,
  },
  {
    DATABASE_HOST: connection.HOST,
    DATABASE_PORT: connection.PORT,
    DATABASE_NAME: name,
    DATABASE_USER: connection.USER,
    DATABASE_PASS: connection.PASS,
  },
  {
    DB_HOST: connection.HOST,
    DB_PORT: connection.PORT,
    DB_BASE: name,
    DB_USER: connection.USER,
    DB_PASS: connection.PASS,
    DATABASE_HOST: 'nowhere.invalid',
    DATABASE_PORT: '1',
    DATABASE_NAME: 'none',
    DATABASE_USER: 'nobody',
    DATABASE_PASS: 'wrong',
  },
])('a worker connects where the variables say (%#)', async (variables) => {
  const { table, close } = await startWith(
    { ...variables, DB_DRIVER: 'POSTGRES' },
    { connection: undefined },
  );
  expect((await pool.query(`select to_regclass('${table}') is not null as made`)).rows).toEqual([
    { made: true },
  ]);
  await close();
});

test('QUEUE_NAME is the channel, QUEUE_TABLE the table', async () => {
  const { events, close } = await startWith(
    { QUEUE_NAME: 'Big.Bell', QUEUE_TABLE: 'env_named' },
    { pollIntervalMs: 0 },
  );
  const bell = await listen(database, 'Big.Bell');
  const completed = nextEvent(events, 'task.completed');
  await pool.query(`insert into env_named (processo) values ('greet')`);
  expect(await completed).toMatchObject({ message: 'hello' });
  expect(await bell.heard()).toHaveLength(1);
  await bell.close();
  await close();
});

test('QUEUE_SUBSCRIBER_TABLE holds the subscriptions', async () => {
  const { queue, events, close } = await startWith({ QUEUE_SUBSCRIBER_TABLE: 'env_readers' });
  await pool.query(`insert into env_readers (id, processo) values ('mail', 'placed')`);
  const delivered = nextEvent(events, 'task.completed', ({ task }) => task.subscriptionId === 'mail');
  await queue.insertTaskPubSub({ topic: 'placed' });
  expect(await delivered).toMatchObject({ message: 'sent' });
  await close();
});

test.each([
  ['TRUE', true],
  ['true', true],
  ['1', false],
])('LOG_DEBUG=%s logs every task: %s', async (value, logged) => {
  const logger = new LogLines();
  const { queue, events, close } = await startWith({ LOG_DEBUG: value }, { logger });
  const completed = nextEvent(events, 'task.completed');
  await queue.insertTask({ topic: 'greet' });
  await completed;
  await close();
  expect(logger.of('debug').some((line) => line.includes('completed: hello'))).toBe(logged);
});

test('QUEUE_MAX_RETRY attempts are made', async () => {
  const { queue, events, close } = await startWith({ QUEUE_MAX_RETRY: '2', QUEUE_BASE_INTERVAL_RETRY: '0' });
  const attempts: number[] = [];
  events.on('task.failed', ({ task }) => attempts.push(task.attempt));
  const buried = nextEvent(events, 'task.buried');
  await queue.insertTask({ topic: 'fail' });
  await buried;
  expect(attempts).toEqual([1, 2]);
  await close();
});

test('QUEUE_BASE_INTERVAL_RETRY minutes lie between two attempts', async () => {
  const { queue, events, table, close } = await startWith({ QUEUE_BASE_INTERVAL_RETRY: '7' });
  const failed = nextEvent(events, 'task.failed');
  await queue.insertTask({ topic: 'fail' });
  await failed;
  const { rows } = await pool.query(
    `select proxima_tentativa - data_hora = interval '7 minutes' as seven from ${table} where reenfileirado`,
  );
  expect(rows).toEqual([{ seven: true }]);
  await close();
});

test('the three minute lists are the minutes of the three routines', async () => {
  const { app, close } = await startWith(
    {
      QUEUE_MINUTE_RETRY_THREAD: '1,31',
      QUEUE_MINUTE_NOTIFY_THREAD: '2',
      QUEUE_MINUTE_PURGE_THREAD: '3, 04',
    },
    { imports: [ScheduleModule.forRoot()], routines: true },
  );
  const registry = app.get(SchedulerRegistry);
  const times = ['retry', 'notify', 'purge'].map(
    (routine) => registry.getCronJob(`tarefa:default:${routine}`).cronTime.source,
  );
  expect(times).toEqual(['0 1,31 * * * *', '0 2 * * * *', '0 3,4 * * * *']);
  await close();
});

test('QUEUE_PURGE_MAX_AGE days of history are kept', async () => {
  const { purge, table, close } = await startWith({ QUEUE_PURGE_MAX_AGE: '3' });
  await pool.query(
    `insert into ${table} (status, data_hora) select 'sucesso', now() - day * interval '1 day' from unnest(array[1, 2, 4, 5]) day`,
  );
  expect(await purge.run()).toBe(2);
  const { rows } = await pool.query(
    `select max(now() - data_hora) < interval '3 days' as young from ${table}`,
  );
  expect(rows).toEqual([{ young: true }]);
  await close();
});

test('QUEUE_PURGE_LIMIT rows go at once, QUEUE_PURGE_ROUND_LIMIT times', async () => {
  const { purge, table, close } = await startWith({
    QUEUE_PURGE_LIMIT: '2',
    QUEUE_PURGE_ROUND_LIMIT: '3',
    // The variable that nsj-queue-lib reads by mistake.
    QUEUE_WAIT_NOTIFY_INTERVAL: '1000',
  });
  await pool.query(`
    insert into ${table} (status, data_hora) select 'sucesso', now() - interval '1 year' from generate_series(1, 10);
    create table ${table}_deletes (deleted int);
    create function ${table}_count() returns trigger language plpgsql as $$
    begin
      insert into ${table}_deletes select count(*) from gone;
      return null;
    end $$;
    create trigger count after delete on ${table} referencing old table as gone
      for each statement execute function ${table}_count()`);
  expect(await purge.run()).toBe(6);
  expect((await pool.query(`select deleted from ${table}_deletes`)).rows).toEqual(
    Array.from({ length: 3 }, () => ({ deleted: 2 })),
  );
  await close();
});

test('QUEUE_WAIT_NOTIFY_INTERVAL is how long a due task may wait before it is rung for', async () => {
  const { notify, retry, table, close } = await startWith(
    { QUEUE_WAIT_NOTIFY_INTERVAL: '90', QUEUE_PURGE_LIMIT: '1' },
    { handlers: [], pollIntervalMs: 0, unknownTasks: 'fail' },
  );
  const bell = await listen(database, table);
  const insertDue = (age: string) =>
    pool.query(`insert into ${table} (processo, data_hora) values ('nobody', now() - interval '${age}')`);
  const rings = async (): Promise<number> => {
    await bell.heard();
    await notify.run();
    // Goes over the same connection as a ring: once it is back, the ring was sent.
    await retry.run();
    return (await bell.heard()).length;
  };
  await insertDue('60 seconds');
  expect(await rings()).toBe(0);
  await insertDue('120 seconds');
  expect(await rings()).toBe(1);
  await bell.close();
  await close();
});

test('QUEUE_WAIT_NOTIFY_INTERVAL is also the longest a worker waits before it looks', async () => {
  const { table, close } = await startWith({ QUEUE_WAIT_NOTIFY_INTERVAL: '0.1' });
  await pool.query(
    `begin; set local tarefa.quiet = 'on'; insert into ${table} (processo) values ('greet'); commit`,
  );
  const succeeded = await until(
    async () => (await pool.query(`select from ${table} where status = 'sucesso'`)).rowCount,
    'the task that nobody rang for',
  );
  expect(succeeded).toBe(1);
  await close();
});
