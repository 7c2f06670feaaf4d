import { expect, test } from 'vitest';
import { planMigration } from '../../../lib/storage/postgres/migration/migrate.js';
import { useDatabase } from '../../support/database.js';
import { createQueue } from '../../support/queue-app.js';
import { namesIn, sessionsOf } from './schema-sessions.js';

const database = await useDatabase();
const { pool } = database;
const withSession = sessionsOf(pool);

/**
 * Makes the indexes, triggers and the view of a queue again from what the server prints of them, as `psql` does with what
 * `pg_dump` has written. Returns how many it prints in another way from then on.
 */
async function restore(schema: string): Promise<number> {
  const before = await definitions(schema);
  for (const { drop, make } of before) {
    await pool.query(drop);
    // A dump makes the index of each partition as well.
    await pool.query(make.replace(' ON ONLY ', ' ON '));
  }
  const after = new Set((await definitions(schema)).map(({ make }) => make));
  return before.filter(({ make }) => !after.has(make)).length;
}

async function definitions(schema: string): Promise<readonly { drop: string; make: string }[]> {
  const { rows } = await pool.query<{ drop: string; make: string }>(
    `select format('drop index %s', i.indexrelid::regclass) as drop, pg_get_indexdef(i.indexrelid) as make
     from pg_index i where i.indrelid = $1::regclass and not i.indisprimary
     union all
     select format('drop trigger %I on %s', t.tgname, t.tgrelid::regclass), pg_get_triggerdef(t.oid)
     from pg_trigger t where t.tgrelid = $1::regclass and not t.tgisinternal
     union all
     select format('drop view %s', c.oid::regclass), format('create view %s as %s', c.oid::regclass, pg_get_viewdef(c.oid))
     from pg_class c where c.relkind = 'v' and c.relnamespace = $2::regnamespace`,
    [`${schema}.tasks`, schema],
  );
  return rows;
}

async function plan(schema: string): Promise<readonly string[]> {
  const { steps } = await withSession((session) => planMigration(session, namesIn(schema)));
  return steps.map(({ what }) => what);
}

test.each([
  { schema: 'plain', options: {} },
  { schema: 'divided', options: { layout: { partitionIds: 100 } } },
])(
  'a queue that was restored from a dump is up to date, also from a dump of that ($schema)',
  async ({ schema, options }) => {
    await createQueue(database, { table: `${schema}.tasks`, ...options });
    expect(await plan(schema)).toEqual([]);
    expect(await restore(schema)).toBeGreaterThan(0);
    expect(await plan(schema)).toEqual([]);
    expect(await restore(schema)).toBe(0);
    expect(await plan(schema)).toEqual([]);
  },
);

test('an index that differs in more than how it is printed is replaced after a restoration as before', async () => {
  await createQueue(database, { table: 'other.tasks' });
  await pool.query(`
    drop index other.tasks_running;
    create index tasks_running on other.tasks (executor) where status in ('processando', 'pendente')`);
  await restore('other');
  expect(await plan('other')).toEqual([expect.stringMatching(/tasks_running/)]);
});
