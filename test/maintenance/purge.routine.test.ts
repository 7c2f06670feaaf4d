import { Client } from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { QueueAdmin } from '../../lib/index.js';
import { createQueue, layoutOfRun, type QueueAppOptions } from '../support/queue-app.js';
import { until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';

/** Nothing but the purge touches a row. */
const passive = {
  recovery: false,
  scheduledTimer: false,
  pollIntervalMs: 0,
  unknownTasks: 'leave',
} as const satisfies QueueAppOptions;

/** One partition holds all rows of this file: here they are purged one by one. */
const wide = layoutOfRun(1_000_000);

const bench = useQueue('tasks_worker', 'deletion');

beforeAll(async () => {
  await createQueue(bench.database, wide);
  // Tells how many rows each DELETE took.
  await bench.pool.query(
    `create table deletion (n serial, taken integer);
     create function note_deletion() returns trigger language plpgsql as $$
     begin
       insert into deletion (taken) select count(*) from gone;
       return null;
     end $$;
     create trigger note_deletion after delete on tasks referencing old table as gone
       for each statement execute function note_deletion();
     create function wait_for_gate() returns trigger language plpgsql as $$
     begin perform pg_advisory_xact_lock_shared(1); return old; end $$;
     create trigger gate before delete on tasks for each row when (old.payload = 'first')
       execute function wait_for_gate()`,
  );
});

const start = (options: QueueAppOptions = {}) => bench.start({ ...passive, ...wide, ...options });

interface RowInput {
  readonly note: string;
  readonly status?: string;
  readonly days?: number;
  /** Note of the chain's first attempt. */
  readonly root?: string;
  /** Note of the first attempt of the chain that died. */
  readonly live?: string;
}

/** Rows of a hundred days ago; the note stands in the payload. */
async function insertRows(rows: readonly RowInput[]): Promise<void> {
  for (const { note, status = 'sucesso', days = 100, root, live } of rows) {
    await bench.pool.query(
      `insert into tasks (payload, status, data_hora, id_inicial, id_anterior, dead, live_id)
       select $1, $2, now() - $3::int * interval '1 day', first,
         (select max(id) from tasks where id = first or id_inicial = first), $5::text is not null,
         (select id from tasks where payload = $5)
       from (select (select id from tasks where payload = $4) as first) chain`,
      [note, status, days, root, live],
    );
  }
}

/** Whoever deletes the row noted `first` waits until the returned function is called. */
async function closeGate(): Promise<() => Promise<void>> {
  const gate = new Client({ connectionString: bench.database.url });
  await gate.connect();
  await gate.query('select pg_advisory_lock(1)');
  return () => gate.end();
}

async function isAtGate(): Promise<boolean> {
  const { rows } = await bench.pool.query(
    `select from pg_stat_activity where wait_event = 'advisory' and datname = current_database()`,
  );
  return rows.length === 1;
}

async function left(): Promise<readonly string[]> {
  const { rows } = await bench.pool.query<{ payload: string }>('select payload from tasks order by id');
  return rows.map(({ payload }) => payload);
}

test('ended tasks older than 60 days go, younger ones stay', async () => {
  const { purge } = await start();
  await insertRows([
    { note: 'old', days: 61 },
    { note: 'old failure', days: 61, status: 'falha' },
    { note: 'old failure of another program', days: 61, status: 'falha_processando' },
    { note: 'young', days: 59 },
    { note: 'young failure', days: 59, status: 'falha' },
  ]);
  expect(await purge.run()).toBe(3);
  expect(await left()).toEqual(['young', 'young failure']);
  expect(await purge.run()).toBe(0);
});

test('the age is an option', async () => {
  const { purge } = await start({ purgeMaxAgeDays: 2 });
  await insertRows([
    { note: 'old', days: 3 },
    { note: 'young', days: 1 },
  ]);
  expect(await purge.run()).toBe(1);
  expect(await left()).toEqual(['young']);
});

test('rows go oldest first, in blocks, and at most so many blocks a round', async () => {
  const { purge } = await start({ purgeLimit: 10, purgeRoundLimit: 2 });
  await bench.pool.query(
    `insert into tasks (payload, status, data_hora)
     select n, 'sucesso', now() - interval '100 days' - n * interval '1 hour'
     from generate_series(1, 25) n order by (n * 7) % 25`,
  );
  expect(await purge.run()).toBe(20);
  expect([...(await left())].sort()).toEqual(['1', '2', '3', '4', '5']);
  expect(await purge.run()).toBe(5);
  const blocks = await bench.pool.query<{ taken: number }>('select taken from deletion order by n');
  expect(blocks.rows.map(({ taken }) => taken)).toEqual([10, 10, 5]);
});

test('what waits or runs stays, however old it is', async () => {
  const { purge } = await start();
  const statuses = ['pendente', 'agendada', 'processando'];
  await insertRows(statuses.map((status) => ({ note: status, status })));
  expect(await purge.run()).toBe(0);
  expect(await left()).toEqual(statuses);
});

test.each(['pendente', 'agendada', 'processando'])(
  'no attempt of a chain goes before its last one (%s) has ended',
  async (status) => {
    const { purge } = await start();
    await insertRows([
      { note: 'holds the payload', status: 'falha' },
      { note: 'second', status: 'falha', root: 'holds the payload' },
      { note: 'third', status, root: 'holds the payload', days: 1 },
    ]);
    expect(await purge.run()).toBe(0);
    expect(await left()).toHaveLength(3);
    await bench.pool.query(`update tasks set status = 'sucesso' where payload = 'third'`);
    // Nor before that one is as old: a chain goes whole.
    expect(await purge.run()).toBe(0);
    await bench.pool.query(`update tasks set data_hora = now() - interval '61 days' where payload = 'third'`);
    expect(await purge.run()).toBe(3);
  },
);

test('a chain whose first attempt was set pending again by hand stays whole', async () => {
  const { purge } = await start();
  await insertRows([
    { note: 'first', status: 'pendente' },
    { note: 'second', status: 'falha', root: 'first' },
  ]);
  expect(await purge.run()).toBe(0);
  expect(await left()).toEqual(['first', 'second']);
});

test('a chain that died stays until its dead chain has ended: the key of both is made from it', async () => {
  const { purge } = await start();
  await insertRows([
    { note: 'live', status: 'falha' },
    { note: 'live again', status: 'falha', root: 'live' },
    { note: 'dead', status: 'falha', live: 'live' },
    { note: 'dead again', status: 'agendada', live: 'live', root: 'dead' },
  ]);
  expect(await purge.run()).toBe(0);
  expect(await left()).toHaveLength(4);
  await bench.pool.query(`update tasks set status = 'sucesso' where payload = 'dead again'`);
  expect(await purge.run()).toBe(4);
});

test('a row that is retried by hand while a round is under way stays', async () => {
  const { purge } = await start({ purgeLimit: 1 });
  await insertRows([{ note: 'first', days: 102 }, { note: 'retried', days: 101 }, { note: 'last' }]);
  const open = await closeGate();
  const round = purge.run();
  await until(isAtGate, 'the round has begun');
  await bench.pool.query(`update tasks set status = 'pendente' where payload = 'retried'`);
  await open();
  expect(await round).toBe(2);
  expect(await left()).toEqual(['retried']);
});

test('a row that somebody has locked is left for the next round, and not waited for', async () => {
  const { purge } = await start();
  await insertRows([{ note: 'locked', days: 101 }, { note: 'free' }]);
  const other = await bench.pool.connect();
  await other.query(`begin; update tasks set status = 'pendente' where payload = 'locked'`);
  expect(await purge.run()).toBe(1);
  expect(await left()).toEqual(['locked']);
  await other.query('rollback');
  other.release();
  expect(await purge.run()).toBe(1);
});

test('a chain of which somebody has locked an attempt stays whole', async () => {
  const { purge } = await start();
  await insertRows([
    { note: 'live', status: 'falha' },
    { note: 'live again', status: 'falha', root: 'live' },
    { note: 'dead', live: 'live' },
  ]);
  const other = await bench.pool.connect();
  await other.query(`begin; select from tasks where payload = 'live again' for no key update`);
  expect(await purge.run()).toBe(0);
  await other.query('rollback; begin');
  await other.query(`select from tasks where payload = 'dead' for no key update`);
  expect(await purge.run()).toBe(0);
  await other.query('rollback');
  other.release();
  expect(await purge.run()).toBe(3);
});

test('a chain that is started again while a round is under way keeps the payload of its new attempt', async () => {
  const { purge, app } = await start({ purgeLimit: 1 });
  await insertRows([
    { note: 'first', days: 102 },
    { note: 'retried', status: 'falha', days: 101 },
  ]);
  const open = await closeGate();
  const round = purge.run();
  await until(isAtGate, 'the round has begun');
  const { rows } = await bench.pool.query<{ id: string }>(`select id from tasks where payload = 'retried'`);
  // Its row is as ended and old as before; what is new is another row.
  await app.get(QueueAdmin).retry(String(rows[0]?.id));
  await open();
  expect(await round).toBe(1);
  const chain = await bench.pool.query('select status, payload from tasks order by id');
  expect(chain.rows).toEqual([
    { status: 'falha', payload: 'retried' },
    { status: 'pendente', payload: null },
  ]);
});

test('more rows than are looked at at once may have to stay: what lies behind them goes anyway', async () => {
  const { purge } = await start();
  await bench.pool.query(
    `insert into tasks (payload, status, data_hora)
     select 'stays', 'processando', now() - interval '100 days' from generate_series(1, 10050)`,
  );
  await insertRows([{ note: 'goes' }]);
  expect(await purge.run()).toBe(1);
  expect(await purge.run()).toBe(0);
});

test('workers that stopped as long ago are forgotten, those that did not are kept', async () => {
  const { purge, worker } = await start();
  await bench.pool.query(
    `insert into tasks_worker (host, pid, version, concurrency, routes, stopped_at)
     select 'host', 1, '0', 1, '{}', now() - days * interval '1 day' from unnest('{61, 59}'::int[]) days`,
  );
  await purge.run();
  const { rows } = await bench.pool.query<{ id: string; age: number | null }>(
    'select id, extract(day from now() - stopped_at)::int as age from tasks_worker order by id',
  );
  expect(rows).toEqual([
    { id: worker.id, age: null },
    { id: expect.any(String) as unknown, age: 59 },
  ]);
});
