import { beforeEach, expect, test } from 'vitest';
import { migrate, planMigration } from '../../../lib/storage/postgres/migration/migrate.js';
import { useDatabase } from '../../support/database.js';
import { createQueue } from '../../support/queue-app.js';
import { deferred } from '../../support/waiting.js';
import { withClient } from '../../support/with-client.js';
import { namesIn, sessionsOf } from './schema-sessions.js';

const database = await useDatabase();
const { pool } = database;
const withSession = sessionsOf(pool);
let count = 0;
let schema = '';
const layout = { partitionIds: 100 };

/** A partitioned queue whose index of deliveries differs from what the library makes. */
beforeEach(async () => {
  count += 1;
  schema = `s${count}`;
  await createQueue(database, { table: `${schema}.tasks`, layout });
  await spoil();
});

async function spoil(): Promise<void> {
  await pool.query(`
    drop index ${schema}.tasks_deliveries;
    create index tasks_deliveries on ${schema}.tasks (publication_id, subscriber_id, rodada, dead, tentativa)
      where publication_id is not null`);
}

const names = () => namesIn(schema);

/** The indexes of deliveries that there are, of the queue and of all partitions; parts by the end of their names. */
async function indexes(): Promise<readonly unknown[]> {
  const { rows } = await pool.query(
    `select regexp_replace(c.relname, '_' || i.indrelid || '$', '_PART') as name, i.indisvalid as valid,
       pg_get_indexdef(c.oid) like '%live_id%' as is_new, count(*)::int as n
     from pg_index i join pg_class c on c.oid = i.indexrelid
     where c.relnamespace = '${schema}'::regnamespace and pg_get_indexdef(c.oid) like '%(publication_id, subscriber_id, rodada%'
     group by 1, 2, 3 order by 1`,
  );
  return rows;
}

const replaced = [
  { name: 'tasks_deliveries', valid: true, is_new: true, n: 1 },
  { name: 'tasks_deliveries_PART', valid: true, is_new: true, n: 3 },
];

test('an index of a partitioned queue that differs stays in use until the right one is built, and nobody waits', async () => {
  const migration = await withClient(database, async (other) => {
    // Building concurrently waits for who writes to the partition; who would lock everybody out waits as well.
    await other.query(`begin; insert into ${schema}.tasks_p1 (id, processo) values (50, 'theirs')`);
    const waits = deferred<string>();
    const migrating = withSession((session) => migrate(session, names()), {
      lockTimeoutMs: 200,
      attempts: 3,
      onWait: (text) => waits.resolve(text),
    });
    migrating.catch((error: unknown) => waits.reject(error));
    expect(await waits.promise).toMatch(/^the index is waiting for the end of the transaction of session/);
    await pool.query(`insert into ${schema}.tasks (processo) values ('meanwhile')`);
    expect((await pool.query(`select processo from ${schema}.tasks`)).rows).toEqual([
      { processo: 'meanwhile' },
    ]);
    expect(await indexes()).toContainEqual({ name: 'tasks_deliveries', valid: true, is_new: false, n: 1 });
    await other.query('commit');
    return migrating;
  });
  expect(migration.steps.map(({ what, lock }) => `${what}: ${lock}`)).toEqual([
    `build the index tasks_deliveries of each partition: SHARE UPDATE EXCLUSIVE on one partition of "${schema}"."tasks" ` +
      `after another: reads and writes continue meanwhile; before that SHARE on the queue, and after it ACCESS EXCLUSIVE on "${schema}"."tasks", for an instant`,
  ]);
  expect(await indexes()).toEqual(replaced);
  expect(await withSession((session) => planMigration(session, names()))).toMatchObject({ steps: [] });
});

test('an index is replaced as often as it differs', async () => {
  for (let times = 0; times < 2; times += 1) {
    await withSession((session) => migrate(session, names()));
    expect(await indexes()).toEqual(replaced);
    // The new parts have the names that theirs had.
    await spoil();
  }
});

test('killed while one part is built, it keeps the others; a partition that came meanwhile has one as well', async () => {
  await withClient(database, async (other) => {
    const waits = deferred<string>();
    await other.query(`begin; insert into ${schema}.tasks_p2 (id, processo) values (150, 'theirs')`);
    const migrating = withSession((session) => migrate(session, names()), {
      onWait: (text) => waits.resolve(text),
    });
    migrating.catch((error: unknown) => waits.reject(error));
    await waits.promise;
    await pool.query(
      `select pg_terminate_backend(pid) from pg_stat_progress_create_index where relid = '${schema}.tasks_p2'::regclass`,
    );
    await expect(migrating).rejects.toThrow(/terminat|connection/i);
    await other.query('commit');
  });
  const kept = async (): Promise<unknown> =>
    (
      await pool.query(
        `select inhrelid from pg_inherits where inhparent = '${schema}.tasks_deliveries_n'::regclass`,
      )
    ).rows;
  const before = await kept();
  expect(before).not.toEqual([]);
  await pool.query(`
    create table ${schema}.tasks_p3 (like ${schema}.tasks including all);
    alter table ${schema}.tasks attach partition ${schema}.tasks_p3 for values from (200) to (300)`);
  await withSession((session) => migrate(session, names()));
  expect(await indexes()).toContainEqual({ name: 'tasks_deliveries', valid: true, is_new: true, n: 1 });
  const { rows: after } = await pool.query(
    `select inhrelid from pg_inherits where inhparent = '${schema}.tasks_deliveries'::regclass`,
  );
  expect(after).toHaveLength(4);
  expect(after).toEqual(expect.arrayContaining(before as unknown[]));
  expect(await withSession((session) => planMigration(session, names()))).toMatchObject({ steps: [] });
});

test('one that an interruption left of another definition is dropped', async () => {
  await pool.query(
    `create index tasks_deliveries_n on only ${schema}.tasks (publication_id, subscriber_id, rodada)`,
  );
  await withSession((session) => migrate(session, names()));
  expect(await indexes()).toEqual(replaced);
});
