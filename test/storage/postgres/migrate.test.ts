import { randomBytes } from 'node:crypto';
import { Pool } from 'pg';
import { beforeEach, describe, expect, test } from 'vitest';
import { TaskHandler } from '../../../lib/index.js';
import { migrate, planMigration } from '../../../lib/storage/postgres/migration/migrate.js';
import { SchemaSession } from '../../../lib/storage/postgres/migration/schema-session.js';
import { useDatabase } from '../../support/database.js';
import { createQueue, startApp } from '../../support/queue-app.js';
import { deferred, nextEvent, until } from '../../support/waiting.js';
import { withClient } from '../../support/with-client.js';
import { damagedQueue } from './damaged-queue.js';
import { readSchema } from './catalog.js';
import { namesIn, sessionsOf, terminate } from './schema-sessions.js';

const database = await useDatabase();
const { pool } = database;
const withSession = sessionsOf(pool);
let schema = '';

beforeEach(() => {
  schema = `s_${randomBytes(6).toString('hex')}`;
});

const names = () => namesIn(schema);

/** Definitions without the name of the schema. */
async function definitions(name = schema): Promise<readonly string[]> {
  const lines = await readSchema(pool, name);
  return lines.map((line) => line.replaceAll(name, 'schema')).sort();
}

/** The same of a queue that is made by a start. */
async function freshDefinitions(channel: string): Promise<readonly string[]> {
  const fresh = `fresh_${schema}`;
  await createQueue(database, { table: `${fresh}.tasks`, queue: channel });
  return definitions(fresh);
}

class Handlers {
  @TaskHandler('greet')
  greet(text: string): string {
    return text;
  }
}

test('a damaged queue becomes what a new one is, keeps its rows and its channel, and runs them', async () => {
  await damagedQueue(pool, schema);
  await withSession((session) => migrate(session, names()));
  expect(await definitions()).toEqual(await freshDefinitions('bell'));
  expect(await withSession((session) => planMigration(session, names()))).toMatchObject({ steps: [] });
  const { events, close } = await startApp(database, {
    table: `${schema}.tasks`,
    queue: 'bell',
    schema: 'check',
    handlers: [Handlers],
  });
  await nextEvent(events, 'task.completed', ({ task }) => task.id === '20');
  await close();
});

test('killed within each step, it goes on when it is run again', async () => {
  await damagedQueue(pool, schema);
  const { steps } = await withSession((session) => planMigration(session, names()));
  expect(steps.length).toBeGreaterThan(10);
  const killed = new Set<string>();
  while (killed.size < steps.length) {
    const run = withSession((session) =>
      migrate(session, names(), {
        // The connection dies as the step begins. The next run does the step, and dies in the one after it.
        onStart: async ({ what }) => {
          if (killed.has(what)) return;
          killed.add(what);
          await terminate(pool, session);
        },
      }),
    );
    await expect(run).rejects.toThrow(/terminat|connection/i);
  }
  expect([...killed]).toEqual(steps.map(({ what }) => what));
  await withSession((session) => migrate(session, names()));
  expect(await definitions()).toEqual(await freshDefinitions('bell'));
});

test.each([
  ['built', 'tasks_age', 'tasks_age'],
  ['built to take the place of another one', 'tasks_ready', 'tasks_ready_n'],
])('killed while an index is %s, it is built again', async (_, name, built) => {
  await damagedQueue(pool, schema);
  await withClient(database, async (other) => {
    const waits = deferred<string>();
    const migration = withSession(
      (session) =>
        migrate(session, names(), {
          onStart: async ({ what }) => {
            if (!what.includes(`build the index ${name}`)) return;
            // Building waits for transactions that write to the table.
            await other.query(`begin; insert into ${schema}.tasks (processo) values ('late')`);
          },
        }),
      { onWait: (text) => waits.resolve(text) },
    );
    migration.catch(() => undefined);
    expect(await waits.promise).toMatch(
      /is waiting for the end of the transaction of session \d+ \(.*idle in transaction/,
    );
    await pool.query(
      `select pg_terminate_backend(pid) from pg_stat_progress_create_index where relid = '${schema}.tasks'::regclass`,
    );
    await expect(migration).rejects.toThrow(/terminat|connection/i);
    await other.query('commit');
  });
  const { rows } = await pool.query('select indisvalid from pg_index where indexrelid = $1::regclass', [
    `${schema}.${built}`,
  ]);
  expect(rows).toEqual([{ indisvalid: false }]);
  await withSession((session) => migrate(session, names()));
  expect(await definitions()).toEqual(await freshDefinitions('bell'));
});

test('two at once take turns: the second one says so, and finds nothing to do', async () => {
  await damagedQueue(pool, schema);
  const said: string[] = [];
  const second = deferred<readonly unknown[]>();
  await withSession(async (session) =>
    migrate(session, names(), {
      onStart: async (_, index) => {
        if (index !== 0) return;
        void withSession((other) => migrate(other, names()), { onWait: (text) => said.push(text) }).then(
          ({ steps }) => second.resolve(steps),
          (error: unknown) => second.reject(error),
        );
        await until(async () => said.length > 0, 'the second one waits');
      },
    }),
  );
  expect(await second.promise).toEqual([]);
  expect(said).toEqual([expect.stringContaining(`another session is changing ${schema}.tasks`)]);
});

test('a start meanwhile does not wait, and names what goes on', async () => {
  await damagedQueue(pool, schema);
  await withSession((session) =>
    migrate(session, names(), {
      onStart: async (_, index) => {
        if (index !== 0) return;
        await expect(
          startApp(database, { table: `${schema}.tasks`, queue: 'bell', worker: false }),
        ).rejects.toMatchObject({
          code: 'SCHEMA_MISSING',
          message: expect.stringMatching(/are being changed/),
        });
      },
    }),
  );
});

describe('a table that somebody else has locked', () => {
  const hold = (): string => `begin; lock table ${schema}.tasks in access share mode`;

  test('is asked for again and again, and nobody is kept waiting behind', async () => {
    await damagedQueue(pool, schema);
    await withClient(database, async (other) => {
      await other.query(hold());
      const said: string[] = [];
      let released = false;
      await withSession((session) => migrate(session, names()), {
        lockTimeoutMs: 50,
        onWait: (text) => {
          said.push(text);
          // Between two tries an insert passes at once.
          if (said.length < 3 || released) return;
          released = true;
          void pool
            .query(`insert into ${schema}.tasks (processo) values ('meanwhile')`)
            .then(() => other.query('commit'));
        },
      });
      expect(said.slice(0, 3)).toEqual(
        Array.from({ length: 3 }, () =>
          expect.stringMatching(/add perdas is waiting for a lock on .*session \d+ \(.*idle in transaction/),
        ),
      );
    });
    expect((await pool.query(`select from ${schema}.tasks where processo = 'meanwhile'`)).rowCount).toBe(1);
  });

  test('is given up in the end, with the name of who holds it', async () => {
    await damagedQueue(pool, schema);
    await withClient(database, async (other) => {
      await other.query(hold());
      await expect(
        withSession((session) => migrate(session, names()), { lockTimeoutMs: 10, attempts: 3 }),
      ).rejects.toMatchObject({
        code: 'SCHEMA_BUSY',
        message: expect.stringMatching(/used by session \d+ .*gave up after 3 tries/),
      });
      await other.query('commit');
    });
    await withSession((session) => migrate(session, names()));
  });
});

test('attempts that are there twice keep an index from being built: it says which, and leaves no invalid one', async () => {
  await damagedQueue(pool, schema);
  await pool.query(`
    drop index ${schema}.tasks_successor;
    insert into ${schema}.tasks (id_inicial, id_anterior, tentativa) values (5, 5, 2), (5, 5, 2)`);
  await expect(withSession((session) => migrate(session, names()))).rejects.toMatchObject({
    code: 'SCHEMA_CONFLICT',
    message: expect.stringMatching(/tasks_successor.*\(id_anterior, rodada\)=\(5, 0\).*npx tarefa adopt/),
  });
  expect((await pool.query(`select to_regclass('${schema}.tasks_successor') as index`)).rows).toEqual([
    { index: null },
  ]);
});

test('a view that something is made of is not dropped behind its back', async () => {
  await damagedQueue(pool, schema);
  await pool.query(`create view ${schema}.report as select status from ${schema}.tasks_tasks`);
  await expect(withSession((session) => migrate(session, names()))).rejects.toMatchObject({
    code: 'SCHEMA_CONFLICT',
    message: expect.stringMatching(/view .*report depends on/),
  });
});

test('a start refuses to build indexes on a large table, and names the command; a migration builds them', async () => {
  await createQueue(database, { table: `${schema}.tasks` });
  await pool.query(`
    insert into ${schema}.tasks (processo, status) select 'greet', 'sucesso' from generate_series(1, 150000);
    drop index ${schema}.tasks_attempts, ${schema}.tasks_age;
    analyze ${schema}.tasks`);
  const start = () => startApp(database, { table: `${schema}.tasks`, worker: false });
  await expect(start()).rejects.toMatchObject({
    code: 'SCHEMA_MISSING',
    message: expect.stringMatching(
      /has about 150,000 rows and lacks tasks_attempts, tasks_age: .*`npx tarefa migrate`/,
    ),
  });
  // What is instant is made anyway.
  await withSession((session) => migrate(session, names()));
  await pool.query(`alter table ${schema}.tasks drop column erro`);
  await (await start()).close();
});

test('behind a pooler it is refused, because locks of a session are nobody’s there', async () => {
  const lying = new Pool({ connectionString: database.url });
  lying.on('connect', (client) => Object.assign(client, { processID: 1 }));
  await expect(SchemaSession.open(lying)).rejects.toMatchObject({
    code: 'SCHEMA_CONFLICT',
    message: expect.stringContaining('goes through a pooler'),
  });
  await lying.end();
});
