import { randomBytes } from 'node:crypto';
import { Pool, type PoolConfig } from 'pg';
import { expect, test } from 'vitest';
import { TaskHandler, type QueueModuleOptions } from '../../lib/index.js';
import { allClosed, connectionsAre } from '../support/connections.js';
import { useDatabase } from '../support/database.js';
import { startApp } from '../support/queue-app.js';
import { nextEvent } from '../support/waiting.js';

const database = await useDatabase();
const { pool } = database;

class Handlers {
  @TaskHandler('greet')
  greet(): string {
    return 'hello';
  }
}

const { hostname: host, port, username: user, password, pathname } = new URL(database.url);
const config: PoolConfig = {
  host,
  port: Number(port),
  user,
  password: decodeURIComponent(password),
  database: pathname.slice(1),
};

/** Runs a task to its end over that connection. */
async function runTask(options: QueueModuleOptions): Promise<void> {
  const { queue, events, close } = await startApp(database, { ...options, handlers: [Handlers] });
  const completed = nextEvent(events, 'task.completed');
  await queue.insertTask({ topic: 'greet' });
  expect(await completed).toMatchObject({ message: 'hello' });
  await close();
}

test('a URL, a configuration and a pool are all a connection', async () => {
  for (const connection of [database.url, config, { connectionString: database.url }])
    await runTask({ connection });
  for (const options of [config, { connectionString: database.url, max: 1 }]) {
    const own = new Pool(options);
    await runTask({ connection: own });
    // It is read, not used: its size and settings are the user's.
    expect(own.totalCount).toBe(0);
    await own.end();
  }
});

test('the connections say what they are for', async () => {
  const { close } = await startApp(database, { queue: 'shop' });
  expect(await connectionsAre(database, ['tarefa session', 'tarefa shop control', 'tarefa shop pool'])).toBe(
    true,
  );
  await close();
  expect(await allClosed(database)).toBe(true);
});

test('poolSize connections carry handlers and inserts, however many insert', async () => {
  const { queue, close } = await startApp(database, { poolSize: 2, worker: false });
  await Promise.all(Array.from({ length: 20 }, () => queue.insertTask({ topic: 'nobody' })));
  expect(await connectionsAre(database, ['tarefa tasks pool', 'tarefa tasks pool'])).toBe(true);
  await close();
});

test('sessionConnection carries LISTEN and session locks, and nothing else', async () => {
  const role = `listener_${randomBytes(6).toString('hex')}`;
  await pool.query(`create role ${role} login password 'secret'`);
  const direct = new URL(database.url);
  direct.username = role;
  direct.password = 'secret';
  const { events, close } = await startApp(database, {
    sessionConnection: direct.href,
    handlers: [Handlers],
    pollIntervalMs: 0,
    recovery: { intervalMs: 20, confirmMs: 0, graceMs: 0 },
  });
  const { rows } = await pool.query(
    `select application_name as name from pg_stat_activity where usename = $1 and datname = current_database()`,
    [role],
  );
  expect(rows).toEqual([{ name: 'tarefa session' }]);
  const completed = nextEvent(events, 'task.completed');
  await pool.query(`insert into tasks (processo) values ('greet')`);
  expect(await completed).toMatchObject({ message: 'hello' });
  // Recovery needs the tables as well, to which that role has no right.
  const recovered = nextEvent(events, 'task.recovered');
  await pool.query(
    `with lost as (insert into tasks_worker (host, pid, version, concurrency, routes) values ('gone', 1, '1', 1, '{}') returning id)
     insert into tasks (processo, status, executor, reserva, tentativa) select 'greet', 'processando', lost.id, 1, 1 from lost`,
  );
  expect(await recovered).toMatchObject({ task: { topic: 'greet' } });
  await close();
  await allClosed(database);
  await pool.query(`drop role ${role}`);
});
