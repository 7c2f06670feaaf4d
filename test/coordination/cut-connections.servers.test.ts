import { afterEach, expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { useDatabase } from '../support/database.js';
import { startApp, useApp, type QueueAppOptions } from '../support/queue-app.js';
import { workersAreQuiet } from '../support/quiet-worker.js';
import { deferred, nextEvent, until } from '../support/waiting.js';
import { createEffectTable } from '../support/worker-process.js';

const database = await useDatabase();
const holding = deferred();
const end = deferred();

class Handlers {
  @TaskHandler('effect')
  async effect(_: unknown, { db, task }: TaskContext): Promise<void> {
    await db.query('insert into effect values ($1, $2)', [task.firstAttemptId, task.attempt]);
  }

  @TaskHandler('hold')
  async hold(): Promise<void> {
    holding.resolve();
    await end.promise;
  }

  @TaskHandler('plain')
  plain(): void {}
}

const options: QueueAppOptions = {
  handlers: [Handlers],
  pollIntervalMs: 0,
  retryIntervalMinutes: 0,
  recovery: false,
};

await createEffectTable(database);
const app = await useApp(database, options);

afterEach(() => database.pool.query('truncate tasks, effect'));

/** Ends the server's side of connections; returns how many. */
async function cut(purpose: string, most = 1_000): Promise<number> {
  const { rowCount } = await database.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where pid in (
       select pid from pg_stat_activity
       where datname = current_database() and application_name like 'tarefa%' || $1 order by random() limit $2)`,
    [purpose, most],
  );
  return rowCount ?? 0;
}

async function insert(topic: string, count: number): Promise<void> {
  await database.pool.query(
    `insert into tasks (processo, payload) select $1, '{}' from generate_series(1, $2::int)`,
    [topic, count],
  );
}

async function allSucceeded(count: number): Promise<boolean> {
  const { rowCount } = await database.pool.query(`select from tasks where status = 'sucesso'`);
  return rowCount === count;
}

async function effects(): Promise<{ readonly all: number; readonly roots: number }> {
  const { rows } = await database.pool.query<{ all: number; roots: number }>(
    'select count(*)::int as all, count(distinct task_root)::int as roots from effect',
  );
  return rows[0] ?? { all: 0, roots: 0 };
}

test('without its session a worker listens again by itself and finds what came meanwhile', async () => {
  const lost = nextEvent(app.events, 'connection.lost', ({ connection }) => connection === 'session');
  const restored = nextEvent(app.events, 'connection.restored', ({ connection }) => connection === 'session');
  expect(await cut('session')).toBe(1);
  await lost;
  // Nobody hears this ring.
  await insert('effect', 20);
  await restored;
  await until(() => allSucceeded(20), 'the tasks inserted meanwhile');
  // This one is heard again; polling is off.
  await workersAreQuiet(database);
  await insert('effect', 1);
  await until(() => allSucceeded(21), 'the task inserted afterwards');
  expect(await effects()).toEqual({ all: 21, roots: 21 });
});

test('a worker that has its session back is alive under its id, and keeps its task', async () => {
  const { id } = app.worker;
  await insert('hold', 1);
  await holding.promise;
  const restored = nextEvent(app.events, 'connection.restored', ({ connection }) => connection === 'session');
  expect(await cut('session')).toBe(1);
  await restored;
  const looker = await startApp(database, {
    recovery: { intervalMs: 3_600_000, confirmMs: 50, graceMs: 0 },
    unknownTasks: 'leave',
  });
  expect(await looker.retry.run()).toBe(0);
  await looker.close();
  end.resolve();
  await until(() => allSucceeded(1), 'the task that was held');
  const { rows } = await database.pool.query('select tentativa, reserva, executor from tasks');
  expect(rows).toEqual([{ tentativa: 1, reserva: 1, executor: id }]);
});

test.each(['control', 'pool', 'session'])(
  'the %s connection cut again and again while tasks flow: each has one effect',
  async (purpose) => {
    // A second worker, which takes what the first one seems to have lost.
    const recovery = { intervalMs: 50, confirmMs: 50, graceMs: 0 };
    const neighbour = await startApp(database, { ...options, recovery });
    await insert('effect', 2_000);
    let cuts = 0;
    for (let round = 1; round <= 10; round += 1) {
      await until(async () => (await effects()).all >= round * 150, `effect ${round * 150}`);
      cuts += await cut(purpose, 1);
    }
    await until(() => allSucceeded(2_000), 'the end of all tasks');
    expect(await effects()).toEqual({ all: 2_000, roots: 2_000 });
    expect(cuts).toBeGreaterThan(5);
    await neighbour.close();
  },
);

test('all of them at once, idle or not', async () => {
  await insert('plain', 100);
  await until(() => allSucceeded(100), 'the first tasks');
  const restored = nextEvent(app.events, 'connection.restored', ({ connection }) => connection === 'session');
  expect(await cut('')).toBeGreaterThan(2);
  await insert('plain', 100);
  await restored;
  await until(() => allSucceeded(200), 'the tasks after the cut');
  const { rows } = await database.pool.query('select max(tentativa) as attempts from tasks');
  expect(rows).toEqual([{ attempts: 1 }]);
});
