import { Client } from 'pg';
import { beforeEach, expect, test } from 'vitest';
import { QueueAdmin, TaskHandler } from '../../../lib/index.js';
import { migrate, planMigration } from '../../../lib/storage/postgres/migration/migrate.js';
import { SchemaSession } from '../../../lib/storage/postgres/migration/schema-session.js';
import {
  partitionTable,
  planPartitioning,
} from '../../../lib/storage/postgres/partitions/partition-table.js';
import { useDatabase } from '../../support/database.js';
import { startApp, type QueueApp, type QueueAppOptions } from '../../support/queue-app.js';
import { nextEvent, until } from '../../support/waiting.js';
import { readSchema } from './catalog.js';
import { namesIn, sessionsOf } from './schema-sessions.js';

const database = await useDatabase();
const { pool } = database;
const withSession = sessionsOf(pool);
let count = 0;
let schema = '';

beforeEach(() => {
  count += 1;
  schema = `s${count}`;
});

const names = () => namesIn(schema);

class Handlers {
  @TaskHandler('greet')
  greet(text: string): string {
    return text;
  }
}

const start = (options: QueueAppOptions = {}): Promise<QueueApp> =>
  startApp(database, { table: `${schema}.tasks`, queue: 'tasks', layout: 'plain', ...options });

const partition = (every = 100): Promise<unknown> =>
  withSession((session) => partitionTable(session, names(), { every }));

/** Definitions without what differs by the age of a queue: partitions, and the columns' order. */
async function definitions(name: string): Promise<readonly string[]> {
  const lines = await readSchema(pool, name);
  return lines
    .filter((line) => !/tasks_(p\d+|default)/.test(line))
    .map((line) => line.replaceAll(name, 'schema'))
    .sort();
}

test('a table in use becomes the first partition: nothing is lost, and workers and producers go on', async () => {
  const app = await start({ handlers: [Handlers] });
  const done: string[] = [];
  app.events.on('task.completed', ({ task }) => void done.push(task.id));
  let sent = 0;
  let stop = false;
  const stopped = (): boolean => stop;
  const producing = (async () => {
    while (!stopped()) {
      // As another program would.
      await pool.query(`insert into ${schema}.tasks (processo, payload) values ('greet', 'hello')`);
      sent += 1;
    }
  })();
  await until(async () => done.length > 50, 'the queue works');
  await partition();
  const before = done.length;
  await until(async () => done.length > before + 50, 'the queue works on');
  stop = true;
  await producing;
  await until(async () => done.length === sent, 'everything is done');
  expect(new Set(done).size).toBe(sent);
  const { rows } = await pool.query<{ name: string; n: number }>(
    `select tableoid::regclass::text as name, count(*)::int as n from ${schema}.tasks where status = 'sucesso' group by 1 order by 1`,
  );
  expect(rows.map(({ name }) => name).slice(0, 2)).toEqual([
    `${schema}.tasks_p1`,
    expect.stringMatching(/tasks_p2|default/),
  ]);
  expect(rows.reduce((sum, { n }) => sum + n, 0)).toBe(sent);
  await app.close();
});

test('what comes of it is what a new partitioned queue is, and there is nothing more to do', async () => {
  await (await start({ worker: false })).close();
  await partition();
  const fresh = `fresh_${schema}`;
  await (await start({ worker: false, table: `${fresh}.tasks`, layout: { partitionIds: 100 } })).close();
  expect(await definitions(schema)).toEqual(await definitions(fresh));
  const left = await pool.query(
    `select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid
     where c.relnamespace = '${schema}'::regnamespace and i.indisunique and c.relname like 'tasks_p1%'`,
  );
  expect(left.rows).toEqual([{ relname: 'tasks_p1_pkey' }]);
  // The table of the first partition has the old one's indexes, and no others were built.
  const limits = await pool.query(`select from pg_constraint where conname = 'tasks_id_limit'`);
  expect(limits.rows).toEqual([]);
  await (await start({ schema: 'check', worker: false })).close();
});

test('it goes on where it was interrupted, wherever that was', async () => {
  const app = await start({ worker: false });
  const id = await app.queue.insertTask({ topic: 'greet' });
  await app.close();
  const { steps } = await withSession((session) => planPartitioning(session, names(), 100));
  // Each time one step more, and then again from the beginning.
  for (let n = 0; n < steps.length; n += 1) {
    await withSession(async (session) => {
      const interrupted = partitionTable(session, names(), {
        every: 100,
        onEnd: (_, index) => {
          if (index === 0) throw new Error('interrupted');
        },
      });
      // The last time there is nothing left to interrupt.
      const outcome = await interrupted.then(
        () => 'done',
        (error: Error) => error.message,
      );
      expect(['done', 'interrupted']).toContain(outcome);
    });
  }
  await partition();
  expect(await withSession((session) => planPartitioning(session, names(), 100))).toMatchObject({
    steps: [{ what: 'create the partitions that are needed next' }],
  });
  const { rows } = await pool.query(`select id, tableoid::regclass::text as name from ${schema}.tasks`);
  expect(rows).toEqual([{ id, name: `${schema}.tasks_p1` }]);
});

test('the plan says which locks are taken, and changes nothing', async () => {
  await (await start({ worker: false })).close();
  const before = await readSchema(pool, schema);
  const { steps } = await withSession((session) => planPartitioning(session, names()));
  const online = `SHARE UPDATE EXCLUSIVE on "${schema}"."tasks": reads and writes continue meanwhile`;
  expect(steps.map(({ what, lock }) => `${what}: ${lock}`)).toEqual([
    `limit the table to ids below 11000000, far above those of new rows: ACCESS EXCLUSIVE on "${schema}"."tasks", for an instant`,
    `check that all rows are below it: ${online}`,
    ...['dead', 'deliveries', 'successor', 'unica'].map(
      (suffix) => `build the index tasks_p1_${suffix}, in the form that a partition needs: ${online}`,
    ),
    `make the table the first partition of a new ${schema}.tasks: ACCESS EXCLUSIVE on "${schema}"."tasks", for an instant`,
    ...['dead', 'deli', 'succ', 'unic'].map(
      (suffix) =>
        `drop the index tasks_${suffix}_u: SHARE UPDATE EXCLUSIVE on tasks_p1: reads and writes continue meanwhile`,
    ),
  ]);
  expect(await readSchema(pool, schema)).toEqual(before);
});

test('who was allowed something before is so afterwards, and the owner stays', async () => {
  await (await start({ worker: false })).close();
  const roles = [`owner_${schema}`, `reader_${schema}`];
  await pool.query(
    `create role ${roles[0]}; create role ${roles[1]};
     grant create on schema ${schema} to ${roles[0]};
     alter table ${schema}.tasks owner to ${roles[0]};
     grant select on ${schema}.tasks to ${roles[1]} with grant option;
     grant update (status, mensagem) on ${schema}.tasks to ${roles[1]}`,
  );
  const rights = async (): Promise<unknown> =>
    (
      await pool.query(
        `select pg_get_userbyid(c.relowner) as owner, has_table_privilege('${roles[1]}', c.oid, 'select with grant option') as reads,
           has_table_privilege('${roles[1]}', c.oid, 'insert') as inserts,
           has_column_privilege('${roles[1]}', c.oid, 'status', 'update') as updates,
           has_column_privilege('${roles[1]}', c.oid, 'payload', 'update') as updates_more
         from pg_class c where c.oid = '${schema}.tasks'::regclass`,
      )
    ).rows;
  const before = await rights();
  await partition();
  expect(await rights()).toEqual(before);
  await pool.query(`drop schema ${schema} cascade; drop role ${roles.join(', ')}`);
});

test.each([
  [
    'a trigger',
    `create trigger mine before update on tasks for each row execute function suppress_redundant_updates_trigger()`,
    'the trigger mine',
  ],
  ['a view', 'create view mine as select id from tasks', 'the view'],
  [
    'a foreign key',
    'create table mine (task bigint references tasks (id))',
    'the foreign key mine_task_fkey',
  ],
  ['a policy', 'create policy mine on tasks using (true)', 'the policy mine'],
  ['a unique index', 'create unique index mine on tasks (chave_externa)', 'the unique index mine'],
])('what would stay with the old table is named and refused: %s', async (_, sql, named) => {
  await (await start({ worker: false })).close();
  await pool.query(`set search_path = ${schema}; ${sql}; reset search_path`);
  await expect(partition()).rejects.toMatchObject({
    code: 'SCHEMA_CONFLICT',
    message: expect.stringContaining(named) as string,
  });
});

test('columns and indexes that users added are there afterwards', async () => {
  await (await start({ worker: false })).close();
  await pool.query(
    `alter table ${schema}.tasks add column mine text default 'x' check (mine <> 'y'), alter column origem set default 'here'`,
  );
  await partition();
  await pool.query(`insert into ${schema}.tasks (processo) values ('greet')`);
  const { rows } = await pool.query(
    `select mine, origem, tableoid::regclass::text as name from ${schema}.tasks`,
  );
  expect(rows).toEqual([{ mine: 'x', origem: 'here', name: `${schema}.tasks_p2` }]);
  await expect(pool.query(`insert into ${schema}.tasks (mine) values ('y')`)).rejects.toThrow(
    /check constraint/,
  );
});

test('when it fails at the last moment, everything is as before, and inserts go on', async () => {
  const app = await start({ worker: false });
  await pool.query(`create table ${schema}.tasks_p3 ()`);
  await expect(partition()).rejects.toThrow(/already exists/);
  await app.queue.insertTask({ topic: 'greet' });
  await pool.query(`drop table ${schema}.tasks_p3`);
  await partition();
  await app.queue.insertTask({ topic: 'greet' });
  const { rows } = await pool.query(
    `select id, tableoid::regclass::text as name from ${schema}.tasks order by id`,
  );
  expect(rows).toEqual([
    { id: '1', name: `${schema}.tasks_p1` },
    { id: expect.any(String) as string, name: `${schema}.tasks_p2` },
  ]);
  await app.close();
});

test('one that was begun and forgotten stops no insert: workers lift its limit in time', async () => {
  const { queue, notify, close } = await start();
  await withSession((session) =>
    partitionTable(session, names(), {
      onEnd: () => {
        throw new Error('killed');
      },
    }),
  ).catch(() => undefined);
  const limits = async (): Promise<number> =>
    (await pool.query(`select from pg_constraint where conname = 'tasks_id_limit'`)).rows.length;
  await notify.run();
  expect(await limits()).toBe(1);
  await pool.query(`select setval('${schema}.tasks_id_seq', 10000000)`);
  await notify.run();
  expect(await limits()).toBe(0);
  await pool.query(`select setval('${schema}.tasks_id_seq', 20000000)`);
  expect(await queue.insertTask({ topic: 'greet' })).toBe('20000001');
  await close();
});

test('an index that a partitioned queue lacks is built in each partition while it is used', async () => {
  await (await start({ worker: false, layout: { partitionIds: 100 } })).close();
  await pool.query(`drop index ${schema}.tasks_attempts, ${schema}.tasks_dead`);
  // Interrupted after one partition.
  await pool.query(
    `create index tasks_dead on only ${schema}.tasks (live_id, rodada) where dead and id_anterior is null`,
  );
  await withSession((session) => migrate(session, names()));
  const { rows } = await pool.query(
    `select c.relname as name, i.indisvalid as valid, (select count(*)::int from pg_inherits h where h.inhparent = c.oid) as parts
     from pg_index i join pg_class c on c.oid = i.indexrelid
     where i.indrelid = '${schema}.tasks'::regclass and c.relname in ('tasks_attempts', 'tasks_dead') order by 1`,
  );
  expect(rows).toEqual([
    { name: 'tasks_attempts', valid: true, parts: 3 },
    { name: 'tasks_dead', valid: true, parts: 3 },
  ]);
  expect(await withSession((session) => planMigration(session, names()))).toMatchObject({ steps: [] });
});

test('long transactions are waited for without keeping anybody waiting', async () => {
  const app = await start({ worker: false });
  const other = new Client({ connectionString: database.url });
  await other.connect();
  await other.query(`begin; insert into ${schema}.tasks (processo) values ('theirs')`);
  const waits: string[] = [];
  const session = await SchemaSession.open(pool, {
    pauseMs: 20,
    lockTimeoutMs: 50,
    onWait: (text) => void waits.push(text),
  });
  const converting = partitionTable(session, names(), { every: 100 });
  await until(async () => waits.length > 1, 'it waits');
  await app.queue.insertTask({ topic: 'ours' });
  await other.query('commit');
  await other.end();
  await converting;
  await session.close();
  expect((await pool.query(`select from ${schema}.tasks`)).rows).toHaveLength(2);
  await app.close();
});

test('a worker that began on the plain table makes partitions and purges them when its turn comes', async () => {
  const app = await start({ handlers: [Handlers], purgeMaxAgeDays: 10 });
  const id = await app.queue.insertTask({ topic: 'greet', payload: 'hello' });
  await nextEvent(app.events, 'task.completed', ({ task }) => task.id === id);
  await partition(10);
  await pool.query(
    `insert into ${schema}.tasks (processo, status) select 'greet', 'sucesso' from generate_series(1, 15)`,
  );
  await app.notify.run();
  const { rows } = await pool.query<{ n: number }>(
    `select count(*)::int as n from pg_inherits where inhparent = '${schema}.tasks'::regclass`,
  );
  expect(rows[0]?.n).toBeGreaterThan(4);
  await pool.query(`update ${schema}.tasks set data_hora = now() - interval '100 days'`);
  expect(await app.app.get(QueueAdmin).purge()).toBe(16);
  expect((await pool.query(`select to_regclass('${schema}.tasks_p1') is null as gone`)).rows).toEqual([
    { gone: true },
  ]);
  await app.close();
});
