import { afterEach, beforeEach, expect, test } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { startApp, type QueueApp, type QueueAppOptions } from '../support/queue-app.js';
import { workersAreQuiet } from '../support/quiet-worker.js';
import { until } from '../support/waiting.js';

let database: TestDatabase;
let apps: QueueApp[] = [];
let ran: string[] = [];

class Handlers {
  @TaskHandler('note')
  note(payload: string): void {
    ran.push(payload);
  }
}

beforeEach(async () => {
  database = await createDatabase();
});

afterEach(async () => {
  await Promise.all(apps.map((app) => app.close()));
  apps = [];
  ran = [];
  await database.drop();
});

async function start(options: QueueAppOptions = {}): Promise<QueueApp> {
  const app = await startApp(database, { handlers: [Handlers], pollIntervalMs: 0, ...options });
  apps.push(app);
  return app;
}

const hasRun = (payload: string): Promise<boolean> =>
  until(async () => ran.includes(payload), `the task '${payload}' runs`);

test('a plain INSERT starts its task with polling off, whatever the case of table and channel', async () => {
  await start({ queue: 'Order.Events', table: 'shop_Tasks' });
  await workersAreQuiet(database);
  await database.pool.query(`insert into "shop_Tasks" (processo, payload) values ('note', 'alone')`);
  await hasRun('alone');
  await workersAreQuiet(database);
  // Statements of one string are one transaction.
  await database.pool.query(
    `insert into "shop_Tasks" (processo, payload) values ('note', 'first');
     insert into "shop_Tasks" (processo, payload) values ('note', 'second')`,
  );
  await hasRun('second');
  expect([...ran].sort()).toEqual(['alone', 'first', 'second']);
});

test('a task that is committed late starts then, though younger ones have long run', async () => {
  await start();
  const late = await database.pool.connect();
  await late.query(
    `begin; insert into tasks (processo, payload, data_hora) values ('note', 'late', now() - interval '1 hour')`,
  );
  await database.pool.query(`insert into tasks (processo, payload) values ('note', 'younger')`);
  await hasRun('younger');
  await workersAreQuiet(database);
  expect(ran).toEqual(['younger']);
  await late.query('commit');
  late.release();
  await hasRun('late');
  expect(ran).toEqual(['younger', 'late']);
});

test('a worker that is never rung finds tasks when it polls', async () => {
  await start({ pollIntervalMs: 1_500 });
  await workersAreQuiet(database);
  await database.pool.query(
    `begin; set local tarefa.quiet = 'on'; insert into tasks (processo, payload) values ('note', 'quiet'); commit`,
  );
  await hasRun('quiet');
  expect(ran).toEqual(['quiet']);
});

test("wake: 'poll' listens to nothing and polls every second by default", async () => {
  const polling = { handlers: [Handlers], wake: 'poll' } as const;
  const app = await startApp(database, polling);
  apps.push(app);
  await database.pool.query(`notify tasks, 'HALT'`);
  await database.pool.query(`insert into tasks (processo, payload) values ('note', 'polled')`);
  await hasRun('polled');
  await app.queue.insertTask({ topic: 'note', payload: 'soon', delayMs: 10 });
  await hasRun('soon');
  expect(ran).toEqual(['polled', 'soon']);
});

test('a worker with a free slot takes what is rung for while another task runs', async () => {
  let end: () => void = () => undefined;
  class HoldHandlers {
    @TaskHandler('hold')
    hold(): Promise<void> {
      return new Promise((resolve) => (end = resolve));
    }
  }
  const { queue } = await start({ handlers: [Handlers, HoldHandlers], concurrency: 2 });
  await queue.insertTask({ topic: 'hold' });
  await workersAreQuiet(database);
  await database.pool.query(`insert into tasks (processo, payload) values ('note', 'beside')`);
  await hasRun('beside');
  expect(ran).toEqual(['beside']);
  end();
});
