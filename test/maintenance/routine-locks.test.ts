import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import { createQueue, type QueueAppOptions } from '../support/queue-app.js';
import { deferred, until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

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

const bench = useQueue();
let gate: Client;

beforeAll(async () => {
  await createQueue(bench.database);
  await createQueue(bench.database, { queue: 'other' });
  // Changes of rows wait for a lock that a test may hold.
  await bench.pool.query(
    `create function wait_for_gate() returns trigger language plpgsql as $$
     begin
       perform pg_advisory_xact_lock_shared(1);
       return coalesce(new, old);
     end $$;
     create trigger gate before update or delete on tasks for each row execute function wait_for_gate()`,
  );
  gate = new Client({ connectionString: bench.database.url });
  await gate.connect();
});

afterEach(async () => {
  await gate.query('select pg_advisory_unlock_all()');
  await bench.pool.query('truncate tasks, other restart identity');
});

afterAll(() => gate.end());

const start = (options: QueueAppOptions = {}) => bench.start({ ...passive, ...options });

const closeGate = () => gate.query('select pg_advisory_lock(1)');
const openGate = () => gate.query('select pg_advisory_unlock(1)');

describe.each(routines)('the %s routine', (routine) => {
  test('is run by one of three workers, the others return at once', async () => {
    const workers = await Promise.all([start(), start(), start()]);
    await bench.pool.query(work[routine]);
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
    await bench.pool.query(work[routine]);
    await closeGate();
    const first = worker[routine].run();
    // A session would be granted the lock that it holds already.
    expect(await worker[routine].run()).toBeUndefined();
    await openGate();
    expect(await first).toBe(1);
  });

  test('does not block that of another queue, nor the other routines', async () => {
    const [worker, neighbour, other] = [await start(), await start(), await start({ queue: 'other' })];
    await bench.pool.query(`${work[routine]}; ${work[routine].replace('tasks', 'other')}`);
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
    await bench.pool.query(
      `insert into ${table} (processo, payload) select 'hold', '${table}' from generate_series(1, 3)`,
    );
  }
  await until(async () => started.length === 6, 'the tasks 1, 2 and 3 of both queues run');
  for (const worker of workers) {
    for (const routine of routines) expect(await worker[routine].run()).toBe(0);
  }
  end.resolve();
  await until(async () => {
    const { rows } = await bench.pool.query(
      `select id, status from tasks union all select id, status from other`,
    );
    return rows.every(({ status }) => status === 'sucesso') && rows.length === 6;
  }, 'all of them succeed');
});
