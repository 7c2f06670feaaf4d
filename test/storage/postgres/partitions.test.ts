import { Client } from 'pg';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { QueueAdmin, TaskHandler } from '../../../lib/index.js';
import { createQueue, type QueueAppOptions } from '../../support/queue-app.js';
import { nextEvent } from '../../support/waiting.js';
import { useQueue } from '../../worker/queue-bench.js';

/** Nothing but the purge touches a row; ten ids are a partition. */
const passive = {
  recovery: false,
  scheduledTimer: false,
  pollIntervalMs: 0,
  unknownTasks: 'leave',
  layout: { partitionIds: 10 },
} as const satisfies QueueAppOptions;

const bench = useQueue();
let table = '';
let count = 0;

beforeAll(() => createQueue(bench.database));
beforeEach(() => {
  count += 1;
  table = `tasks_${count}`;
});

const start = (options: QueueAppOptions = {}) => bench.start({ ...passive, table, queue: table, ...options });

interface Row {
  readonly id: number;
  readonly [column: string]: unknown;
}

/** Rows that succeeded a hundred days ago, unless they say otherwise. */
async function insertRows(rows: readonly Row[]): Promise<void> {
  const all = rows.map((row) => ({
    status: 'sucesso',
    data_hora: new Date(Date.now() - 100 * 86_400_000),
    dead: false,
    pub_sub: false,
    reserva: 0,
    rodada: 0,
    perdas: 0,
    ...row,
  }));
  await bench.pool.query(
    `insert into ${table} select * from json_populate_recordset(null::${table}, $1::json)`,
    [JSON.stringify(all)],
  );
  await bench.pool.query(
    `select setval(pg_get_serial_sequence('${table}', 'id'), greatest((select max(id) from ${table}),
       (select last_value from ${table}_id_seq)))`,
  );
}

const range = (from: number, to: number): Row[] =>
  Array.from({ length: to - from + 1 }, (_, index) => ({ id: from + index }));

async function ids(): Promise<readonly number[]> {
  const { rows } = await bench.pool.query<{ id: string }>(`select id from ${table} order by id`);
  return rows.map(({ id }) => Number(id));
}

/** Bounds of the partitions, the default one as nothing. */
async function partitions(): Promise<readonly string[]> {
  const { rows } = await bench.pool.query<{ bounds: string }>(
    `select coalesce(substring(pg_get_expr(c.relpartbound, c.oid) from 'FROM .*'), '') as bounds
     from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = '${table}'::regclass
     order by coalesce(substring(pg_get_expr(c.relpartbound, c.oid) from $$TO \\('(\\d+)'$$)::bigint, -1)`,
  );
  return rows.map(({ bounds }) => bounds);
}

const bounds = (from: number): string => `FROM ('${from}') TO ('${from + 10}')`;

test('a partition of which every task is over and old is dropped, not purged row by row', async () => {
  const { purge } = await start();
  await insertRows(range(1, 25));
  await bench.pool.query(
    `create function refuse() returns trigger language plpgsql as $$ begin raise 'a row was deleted'; end $$;
     create trigger refuse before delete on ${table} for each row when (old.id < 20) execute function refuse()`,
  );
  // Of the one that still gets ids, what is old goes row by row.
  expect(await purge.run()).toBe(25);
  expect(await ids()).toEqual([]);
  expect(await partitions()).not.toContain(bounds(0));
  expect(await partitions()).not.toContain(bounds(10));
  expect(await partitions()).toContain('');
});

test.each([
  ['waits', { status: 'pendente' }],
  ['is scheduled', { status: 'agendada' }],
  ['runs', { status: 'processando' }],
  ['has a status of somebody else', { status: 'ocupada' }],
  ['has none', { status: null }],
])('a partition with a row that %s stays, and is purged row by row', async (_, column) => {
  const { purge } = await start();
  await insertRows([...range(1, 4), { id: 5, ...column }, ...range(6, 12)]);
  expect(await purge.run()).toBe(11);
  expect(await ids()).toEqual([5]);
  expect(await partitions()).toContain(bounds(0));
});

test('a partition that is full of young and old rows waits until it can be dropped', async () => {
  const { purge } = await start();
  const days = (age: number): string => new Date(Date.now() - age * 86_400_000).toISOString();
  await insertRows(range(1, 12).map(({ id }) => ({ id, data_hora: days(id <= 5 ? 61 : 57) })));
  expect(await purge.run()).toBe(0);
  await bench.pool.query(`update ${table} set data_hora = now() - interval '61 days'`);
  expect(await purge.run()).toBe(12);
});

test.each(['infinity', '294276-01-01'])(
  'a row for %s keeps only itself: what is old goes row by row, and later partitions whole',
  async (never) => {
    const { purge } = await start();
    const kept = { id: 3, status: 'agendada', data_hora: never };
    await insertRows([...range(1, 2), kept, ...range(4, 32)]);
    expect(await purge.run()).toBe(31);
    expect(await ids()).toEqual([3]);
    expect(await partitions()).not.toContain(bounds(10));
  },
);

test('one that took long to fill is purged row by row: nobody waits months for the rest', async () => {
  const { purge } = await start();
  const days = (age: number): string => new Date(Date.now() - age * 86_400_000).toISOString();
  await insertRows(range(1, 12).map(({ id }) => ({ id, data_hora: days(id <= 5 ? 300 : 10) })));
  expect(await purge.run()).toBe(5);
});

test('a chain that reaches into the next partition goes whole, with its dead chain', async () => {
  const { purge } = await start();
  await insertRows([
    { id: 1, status: 'falha', reenfileirado: true },
    { id: 11, status: 'falha', id_inicial: 1, id_anterior: 1 },
    { id: 12, dead: true, live_id: 1, status: 'falha', reenfileirado: true },
    { id: 21, dead: true, live_id: 1, id_inicial: 12, id_anterior: 12 },
    { id: 22, data_hora: new Date() },
  ]);
  expect(await purge.run()).toBe(4);
  expect(await ids()).toEqual([22]);
  expect(await partitions()).not.toContain(bounds(0));
});

test.each([
  ['its last attempt waits', [{ id: 11, status: 'agendada', id_inicial: 1 }]],
  ['its last attempt is young', [{ id: 11, id_inicial: 1, data_hora: new Date() }]],
  ['its dead task waits', [{ id: 11, dead: true, live_id: 1, status: 'pendente' }]],
  [
    'its dead task waits for its next attempt',
    [
      { id: 11, dead: true, live_id: 1, status: 'falha' },
      { id: 21, dead: true, live_id: 1, id_inicial: 11, status: 'agendada' },
    ],
  ],
])('the payload of a task stays while %s in another partition', async (_, rows: Row[]) => {
  const { purge } = await start();
  // A dead task that nobody handles would be treated.
  await bench.pool.query(`insert into ${table}_paused (route) values ('t:') on conflict do nothing`);
  await insertRows([{ id: 1, status: 'falha', payload: 'needed' }, ...range(2, 9), ...rows]);
  await purge.run();
  const kept = await bench.pool.query(`select payload from ${table} where id = 1`);
  expect(kept.rows).toEqual([{ payload: 'needed' }]);
  expect(await ids()).toEqual([1, ...rows.map(({ id }) => id)]);
});

test('a task that is started again while its partition is dropped keeps its payload', async () => {
  const { purge, app } = await start();
  await insertRows([{ id: 1, status: 'falha', payload: 'needed' }, ...range(2, 12)]);
  // Between the look and the lock: whoever asks for the lock waits for this transaction.
  const other = new Client({ connectionString: bench.database.url });
  await other.connect();
  await other.query(`begin; select from ${table} limit 1`);
  const round = purge.run();
  await nextLockWait(other);
  await app.get(QueueAdmin).retry('1');
  await other.query('commit');
  await other.end();
  await round;
  expect(await ids()).toContain(1);
});

/** Resolves when somebody waits for a lock. */
async function nextLockWait(client: Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query(
      `select from pg_locks where not granted and mode = 'AccessExclusiveLock' and relation = '${table}'::regclass
         and database = (select oid from pg_database where datname = current_database())`,
    );
    if (rows.length > 0) return;
  }
}

test('a queue that long transactions use is purged another time, and nobody waits long for that', async () => {
  const { purge, queue } = await start();
  await insertRows(range(1, 12));
  const other = new Client({ connectionString: bench.database.url });
  await other.connect();
  await other.query(`begin; insert into ${table} (processo) values ('theirs')`);
  const round = purge.run();
  round.catch(() => undefined);
  await nextLockWait(other);
  // The lock is waited for a tenth of a second at a time.
  await queue.insertTask({ topic: 'ours' });
  await expect(round).rejects.toMatchObject({ code: 'SCHEMA_BUSY' });
  await other.query('commit');
  await other.end();
  expect(await purge.run()).toBe(12);
});

test('partitions are made ahead of time, at a start and by the notify routine', async () => {
  const { notify } = await start();
  expect(await partitions()).toEqual(['', bounds(0), bounds(10)]);
  await insertRows(range(1, 19));
  await notify.run();
  expect(await partitions()).toEqual(['', ...[0, 10, 20, 30, 40, 50].map(bounds)]);
  await insertRows(range(20, 45));
  await start();
  expect(await partitions()).toEqual(['', ...[0, 10, 20, 30, 40, 50, 60].map(bounds)]);
  // They are as the first ones.
  const { rows } = await bench.pool.query<{ reloptions: string[]; indexes: number; triggers: number }>(
    `select c.reloptions, (select count(*)::int from pg_index i where i.indrelid = c.oid and i.indisvalid) as indexes,
       (select count(*)::int from pg_trigger t where t.tgrelid = c.oid) as triggers
     from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = '${table}'::regclass`,
  );
  expect(new Set(rows.map((row) => JSON.stringify(row))).size).toBe(1);
});

test('many ids at once are provided for: twice as many as since the last time', async () => {
  const { notify } = await start();
  await insertRows([{ id: 5 }]);
  await notify.run();
  await bench.pool.query(`select setval(pg_get_serial_sequence('${table}', 'id'), 19)`);
  await notify.run();
  // Fourteen ids since, so that 47 is provided for.
  expect((await partitions()).at(-1)).toBe(bounds(40));
});

test('what no partition is there for is inserted anyway, run, and purged row by row', async () => {
  class Handlers {
    @TaskHandler('greet')
    greet(): void {}
  }
  const { queue, events, purge, notify } = await start({ handlers: [Handlers], unknownTasks: 'fail' });
  await bench.pool.query(`select setval(pg_get_serial_sequence('${table}', 'id'), 57)`);
  const id = await queue.insertTask({ topic: 'greet' });
  await nextEvent(events, 'task.completed', ({ task }) => task.id === id);
  const { rows } = await bench.pool.query(`select tableoid::regclass::text as name from ${table}`);
  expect(rows).toEqual([{ name: `${table}_default` }]);
  // Those that follow begin behind it: nothing is moved.
  await notify.run();
  expect((await partitions()).slice(0, 5)).toEqual(['', bounds(0), bounds(10), bounds(70), bounds(80)]);
  await insertRows(range(70, 71));
  await bench.pool.query(`update ${table} set data_hora = now() - interval '70 days'`);
  await purge.run();
  expect(await ids()).toEqual([]);
});

test('who may not change tables works anyway, and purges row by row', async () => {
  await (await start({ worker: false })).close();
  await insertRows(range(1, 12));
  const role = `worker_${count}`;
  await bench.pool.query(
    `create role ${role} login password 'secret';
     grant select, insert, update, delete on all tables in schema public to ${role};
     grant usage on all sequences in schema public to ${role}`,
  );
  const address = new URL(bench.database.url);
  [address.username, address.password] = [role, 'secret'];
  const { purge, notify, close } = await start({ connection: address.href, schema: 'check' });
  await notify.run();
  await bench.pool.query(`select setval(pg_get_serial_sequence('${table}', 'id'), 57)`);
  await expect(notify.run()).rejects.toThrow(/migrate --partition` as its owner/);
  expect(await purge.run()).toBe(12);
  await close();
  await bench.pool.query(`drop owned by ${role}; drop role ${role}`);
});

test('what takes part with nsj-queue-lib is no partitioned queue', async () => {
  await start({ worker: false });
  await expect(start({ interop: 'nsj' })).rejects.toThrow(/unique indexes/);
});

test('an option for the layout changes no table that is there', async () => {
  await start({ worker: false, layout: 'plain' });
  await start({ worker: false, layout: 'partitioned' });
  const { rows } = await bench.pool.query(`select relkind from pg_class where oid = '${table}'::regclass`);
  expect(rows).toEqual([{ relkind: 'r' }]);
});
