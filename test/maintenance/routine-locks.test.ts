import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { startApp, type QueueApp, type QueueAppOptions } from '../support/queue-app.js';
import { deferred, until } from '../support/waiting.js';

/** Routines run only when they are told to. */
const passive = {
  recovery: { intervalMs: 3_600_000, confirmMs: 50, graceMs: 0 },
  scheduledTimer: false,
  pollIntervalMs: 0,
  unknownTasks: 'leave',
} as const satisfies QueueAppOptions;

/** For each routine one row that is its business. */
const work = {
  retry: `insert into tasks (status, executor) values ('processando', 4711)`,
  notify: `insert into tasks (status, data_hora) values ('agendada', now() - interval '1 minute')`,
  purge: `insert into tasks (status, data_hora) values ('sucesso', now() - interval '100 days')`,
} as const;
const routines = Object.keys(work) as (keyof typeof work)[];

let database: TestDatabase;
let gate: Client;
let apps: QueueApp[] = [];

beforeAll(async () => {
  database = await createDatabase();
  await (await start({ worker: false })).close();
  await (await start({ worker: false, queue: 'other' })).close();
  apps = [];
  // Changes of rows wait for a lock that a test may hold.
  await database.pool.query(
    `create function wait_for_gate() returns trigger language plpgsql as $$
     begin
       perform pg_advisory_xact_lock_shared(1);
       return coalesce(new, old);
     end $$;
     create trigger gate before update or delete on tasks for each row execute function wait_for_gate()`,
  );
  gate = new Client({ connectionString: database.url });
  await gate.connect();
});

afterEach(async () => {
  await gate.query('select pg_advisory_unlock_all()');
  await Promise.all(apps.map((app) => app.close()));
  apps = [];
  await database.pool.query('truncate tasks, other restart identity');
});

afterAll(async () => {
  await gate.end();
  await database.drop();
});

async function start(options: QueueAppOptions = {}): Promise<QueueApp> {
  const app = await startApp(database, { ...passive, ...options });
  apps.push(app);
  return app;
}

const closeGate = () => gate.query('select pg_advisory_lock(1)');
const openGate = () => gate.query('select pg_advisory_unlock(1)');

describe.each(routines)('the %s routine', (routine) => {
  test('is run by one of three workers, the others return at once', async () => {
    const workers = await Promise.all([start(), start(), start()]);
    await database.pool.query(work[routine]);
    await closeGate();
    const answers: (number | undefined)[] = [];
    const runs = workers.map((worker) => worker[routine].run().then((answer) => answers.push(answer)));
    await until(async () => answers.length >= 2, 'two workers give up');
    expect(answers).toEqual([undefined, undefined]);
    await openGate();
    await Promise.all(runs);
    expect(answers).toEqual([undefined, undefined, 1]);
    // The lock is free again.
    expect(await workers[0]?.[routine].run()).toBe(0);
  });

  test('never overlaps itself within one process', async () => {
    const worker = await start();
    await database.pool.query(work[routine]);
    await closeGate();
    const first = worker[routine].run();
    // A session would be granted the lock that it holds already.
    expect(await worker[routine].run()).toBeUndefined();
    await openGate();
    expect(await first).toBe(1);
  });

  test('does not block that of another queue, nor the other routines', async () => {
    const [worker, neighbour, other] = [await start(), await start(), await start({ queue: 'other' })];
    await database.pool.query(`${work[routine]}; ${work[routine].replace('tasks', 'other')}`);
    await closeGate();
    const held = worker[routine].run();
    expect(await other[routine].run()).toBe(1);
    for (const another of routines.filter((name) => name !== routine)) {
      expect(await neighbour[another].run()).toBe(0);
    }
    await openGate();
    expect(await held).toBe(1);
  });
});

test('tasks of two queues with equal ids block neither each other nor the routines', async () => {
  const end = deferred();
  const started: string[] = [];
  class HoldHandlers {
    @TaskHandler('hold')
    async hold(payload: string): Promise<void> {
      started.push(payload);
      await end.promise;
    }
  }
  const workers = [
    await start({ handlers: [HoldHandlers] }),
    await start({ handlers: [HoldHandlers], queue: 'other' }),
  ];
  for (const table of ['tasks', 'other']) {
    await database.pool.query(
      `insert into ${table} (processo, payload) select 'hold', '${table}' from generate_series(1, 3)`,
    );
  }
  await until(async () => started.length === 6, 'the tasks 1, 2 and 3 of both queues run');
  for (const worker of workers) {
    for (const routine of routines) expect(await worker[routine].run()).toBe(0);
  }
  end.resolve();
  await until(async () => {
    const { rows } = await database.pool.query(
      `select id, status from tasks union all select id, status from other`,
    );
    return rows.every(({ status }) => status === 'sucesso') && rows.length === 6;
  }, 'all of them succeed');
});
