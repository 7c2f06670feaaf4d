import { randomBytes } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { adopt, planAdoption } from '../../../lib/storage/postgres/adoption/adopt.js';
import { migrate, planMigration } from '../../../lib/storage/postgres/migration/migrate.js';
import { useDatabase } from '../../support/database.js';
import { startApp } from '../../support/queue-app.js';
import { deferred } from '../../support/waiting.js';
import { readColumns } from './catalog.js';
import { fillAsNsj } from './nsj-rows.js';
import { createNsjTable } from './nsj-table.js';
import { sessionsOf, terminate } from './schema-sessions.js';

const database = await useDatabase();
const { pool } = database;
const withSession = sessionsOf(pool);
let table = '';

beforeEach(() => {
  table = `fila_${randomBytes(4).toString('hex')}`;
});

const request = (timeZone?: string) => ({
  names: {
    table: { schema: 'public', table },
    subscriptionTable: { schema: 'public', table: `${table}_subscriber` },
    channel: table,
    webhooks: false,
  },
  channelIsGiven: false,
  maxPayloadBytes: 1_048_576,
  timeZone,
  dropOldIndexes: true,
  giveBack: false,
});

const ignore = { onPlan: () => undefined };

test('killed within each step, while producers go on, it goes on when it is run again', async () => {
  await createNsjTable(pool, table, { hasPriority: false, time: 'timestamp without time zone' });
  await fillAsNsj(pool, table, { hasPriority: false });
  const { steps } = await withSession((session) => planAdoption(session, request('UTC')));
  expect(steps.length).toBeGreaterThan(15);
  let produced = 0;
  const produce = async (): Promise<void> => {
    produced += 1;
    await pool.query(`insert into ${table} (processo, payload) values ('greet', 'meanwhile')`);
  };
  const killed = new Set<string>();
  // Some steps are only planned once others are done.
  while (steps.some(({ what }) => !killed.has(what))) {
    const run = withSession((session) =>
      adopt(session, request('UTC'), {
        ...ignore,
        // The connection dies as the step begins. The next run does the step, and dies in the one after it.
        onStart: async ({ what }) => {
          await produce();
          if (killed.has(what)) return;
          killed.add(what);
          await terminate(pool, session);
        },
      }),
    );
    await expect(run).rejects.toThrow(/terminat|connection/i);
  }
  await withSession((session) => adopt(session, request('UTC'), { ...ignore, onStart: produce }));
  const columns = (await readColumns(pool, table)).map(([name, type]) => [name, type]);
  expect(columns.filter(([, type]) => type === 'timestamp without time zone')).toEqual([]);
  const { rows } = await pool.query(
    `select count(*)::int as copies from ${table} where payload = 'meanwhile'`,
  );
  expect(rows).toEqual([{ copies: produced }]);
  expect(await withSession((session) => planAdoption(session, request()))).toMatchObject({
    isAdopted: true,
    steps: [],
  });
  expect(await withSession((session) => planMigration(session, request().names))).toMatchObject({
    steps: [],
  });
  await (await startApp(database, { queue: table, schema: 'check', worker: false })).close();
});

test('a migration of a table that is adopted by half is refused', async () => {
  await createNsjTable(pool, table);
  await expect(
    withSession((session) =>
      adopt(session, request(), {
        ...ignore,
        onStart: ({ what }) => {
          if (what.startsWith('tell')) throw new Error('enough');
        },
      }),
    ),
  ).rejects.toThrow('enough');
  await expect(withSession((session) => migrate(session, request().names))).rejects.toMatchObject({
    code: 'SCHEMA_CONFLICT',
    message: expect.stringMatching(/its adoption was interrupted .*npx tarefa adopt public\.fila/),
  });
});

test('copies that unfenced workers make meanwhile are told apart, too', async () => {
  await createNsjTable(pool, table);
  await pool.query(`insert into ${table} (processo, status) values ('greet', 'falha')`);
  let made = 0;
  await withSession((session) =>
    adopt(session, request(), {
      ...ignore,
      onStart: async ({ what }) => {
        // After copies were told apart, before the index that allows none.
        if (!what.startsWith('build the index') || !what.endsWith('successor')) return;
        made += 1;
        await pool.query(
          `insert into ${table} (processo, id_inicial, id_anterior, tentativa) values ('greet', 1, 1, 2), ('greet', 1, 1, 2)`,
        );
      },
    }),
  );
  expect(made).toBe(1);
  const { rows } = await pool.query(`select rodada from ${table} where id_anterior = 1 order by id`);
  expect(rows).toEqual([{ rodada: 0 }, { rodada: 1_000 }]);
});

test('copies of which one says it belongs to another task are told apart', async () => {
  await createNsjTable(pool, table);
  await pool.query(`insert into ${table} (processo, id_inicial, id_anterior, tentativa) values
    ('greet', null, null, 1), ('greet', 1, 1, 2), ('greet', null, 1, 2), ('greet', 7, 1, 2)`);
  await withSession((session) => adopt(session, request(), ignore));
  const { rows } = await pool.query(`select rodada from ${table} where id_anterior = 1 order by id`);
  expect(rows).toEqual([{ rodada: 0 }, { rodada: 1_000 }, { rodada: 2_000 }]);
});

test('a large table is refused by a start, which names the command', async () => {
  await createNsjTable(pool, table);
  // The planner's estimate is what is asked.
  await pool.query(`insert into ${table} (processo, status) values ('greet', 'sucesso');
    update pg_class set reltuples = 120000, relpages = 1 where oid = '${table}'::regclass`);
  await expect(startApp(database, { queue: table, worker: false })).rejects.toMatchObject({
    code: 'SCHEMA_MISSING',
    message: expect.stringMatching(/about 120,000 rows .*`npx tarefa adopt public\.fila/),
  });
});

test('a small one with copies is refused by a start, which names the command', async () => {
  await createNsjTable(pool, table);
  await pool.query(`insert into ${table} (id_inicial, id_anterior) values (1, 1), (1, 1)`);
  await expect(startApp(database, { queue: table, worker: false })).rejects.toMatchObject({
    code: 'SCHEMA_CONFLICT',
    message: expect.stringMatching(/\(id_anterior, rodada\)=\(1, 0\).*`npx tarefa adopt public\.fila/),
  });
});

test('with UTC no row of times without zone is rewritten', async () => {
  await createNsjTable(pool, table, { time: 'timestamp without time zone' });
  await pool.query(`insert into ${table} (processo) values ('greet')`);
  const file = async () => (await pool.query(`select pg_relation_filenode('${table}') as file`)).rows;
  const before = await file();
  await withSession((session) => adopt(session, request('Etc/UTC'), ignore));
  expect(await file()).toEqual(before);
});

test('inserts pass between any two steps, and never ring two bells or none', async () => {
  await createNsjTable(pool, table);
  const listener = await pool.connect();
  const heard: string[] = [];
  const last = deferred();
  listener.on('notification', ({ payload = '' }) =>
    payload === 'last' ? last.resolve() : heard.push(payload),
  );
  await listener.query(`listen ${table}`);
  let inserted = 0;
  await withSession((session) =>
    adopt(session, request(), {
      ...ignore,
      onEnd: async () => {
        inserted += 1;
        await pool.query(`insert into ${table} (processo) values ('greet')`);
      },
    }),
  );
  await pool.query(`select pg_notify('${table}', 'last')`);
  await last.promise;
  listener.release(true);
  expect(heard).toHaveLength(inserted);
});
