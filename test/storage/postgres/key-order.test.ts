import { Pool } from 'pg';
import { expect, test } from 'vitest';
import { adopt } from '../../../lib/storage/postgres/adoption/adopt.js';
import { queueTables } from '../../../lib/storage/postgres/identifiers.js';
import { planMigration } from '../../../lib/storage/postgres/migration/migrate.js';
import { listEquivalent } from '../../../lib/storage/postgres/statements/equivalent.js';
import { queueStatements } from '../../../lib/storage/postgres/statements.js';
import { doneStatements } from '../../../lib/storage/postgres/tenants/done-table.js';
import { useDatabase } from '../../support/database.js';
import { createQueue, startApp } from '../../support/queue-app.js';
import { until } from '../../support/waiting.js';
import { withClient } from '../../support/with-client.js';
import { createNsjTable } from './nsj-table.js';
import { sessionsOf } from './schema-sessions.js';

// An upgrade of the system's libraries changes the order of a language, and an index that was built before finds only some of
// what it holds. No index of ours depends on it.

const database = await useDatabase();
const { pool } = database;
const withSession = sessionsOf(pool);
const {
  rows: [server],
} = await pool.query<{ moves: boolean }>(
  `select current_setting('server_version_num')::int >= 170000
     and exists (select from pg_collation where collprovider = 'i') as moves`,
);

/** Whose order can be changed by hand: the server's catalog has its locale. */
const libraries = server?.moves === true ? ['ICU'] : [];

/** Indexes over texts whose order is another than that of bytes. */
async function ordersOf(table: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select distinct c.relname::text as name
     from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid,
       unnest(i.indcollation) k (id)
     where t.relname like $1 || '%' and k.id <> 0 and k.id <> 'pg_catalog."C"'::regcollation
     order by 1`,
    [table],
  );
  return rows.map(({ name }) => name);
}

test.each([['plain'], ['partitioned']] as const)(
  'every index of a %s queue orders texts by bytes',
  async (layout) => {
    const queue = `kept_${layout}`;
    await createQueue(database, { queue, layout, webhooks: true });
    expect(await ordersOf(queue)).toEqual([]);
    expect(await ordersOf('tarefa_migration')).toEqual([]);
  },
);

test("so does that of a tenant's database", async () => {
  await pool.query(doneStatements('done_steps').create);
  expect(await ordersOf('done_steps')).toEqual([]);
});

test('an adopted table keeps its columns and its own keys; the indexes that the library builds order by bytes, and are used', async () => {
  await createNsjTable(pool, 'fila');
  const names = {
    table: { schema: 'public', table: 'fila' },
    subscriptionTable: { schema: 'public', table: 'fila_subscriber' },
    channel: 'fila',
    webhooks: false,
  };
  const request = {
    names,
    channelIsGiven: false,
    maxPayloadBytes: 1_048_576,
    timeZone: undefined,
    dropOldIndexes: true,
    giveBack: false,
  };
  await withSession((session) => adopt(session, request, { onPlan: () => undefined }));
  expect((await withSession((session) => planMigration(session, names))).steps).toEqual([]);
  expect(await ordersOf('fila')).toEqual([
    'fila_subscriber_pkey',
    'fila_subscriber_tenant_grupo_empresarial_processo_idx',
  ]);
  const tables = queueTables('public', 'fila', { schema: 'public', table: 'fila_subscriber' });
  const plan = await withClient(database, async (client) => {
    await client.query('set enable_seqscan = off; set plan_cache_mode = force_generic_plan');
    await client.query(
      `prepare delivering (bigint[], int[], bigint, boolean[]) as ${queueStatements(tables).fanOut.text}`,
    );
    const equal = listEquivalent(tables.queue, ['pending', 'succeeded']);
    await client.query(`prepare equal (text, text, text, text, text, text, text) as ${equal}`);
    const texts: string[] = [];
    for (const call of [
      `delivering ('{1}', '{1}', 1, '{f}')`,
      `equal ('k', 'h', null, null, null, null, null)`,
    ]) {
      const { rows } = await client.query<Record<string, string>>(`explain execute ${call}`);
      texts.push(...rows.map((row) => row['QUERY PLAN'] ?? ''));
    }
    return texts.join('\n');
  });
  expect(plan).toMatch(/fila_sub_topic.*\n.*Index Cond: .*processo/);
  expect(plan).toMatch(/fila_equivalent.*\n.*Index Cond: .*chave_externa.*payload_hash/);
});

const keys = Array.from({ length: 480 }, (_, n) => [`${n}a`, `b${n}`, `B${n}`, `-${n}`][n % 4] ?? '');

test.each(libraries)('when the order of %s changes, nothing is discarded or taken twice', async () => {
  const url = new URL(database.url);
  url.pathname = `${url.pathname}_moved`;
  const name = url.pathname.slice(1);
  const moved = { url: url.href };
  await pool.query(
    `create database ${name} template template0 encoding 'UTF8' lc_collate 'C' lc_ctype 'C' locale_provider icu icu_locale 'en-US'`,
  );
  const keep = `insert into tasks (processo, status, chave_unica) select 'kept', 'agendada', 'v:' || key
    from unnest($1::text[]) key on conflict do nothing`;
  const before = new Pool({ connectionString: url.href });
  try {
    await createQueue(moved);
    await before.query(keep, [keys]);
    await before.query(
      'insert into tasks_subscriber (id, processo) select key, key from unnest($1::text[]) key',
      [keys],
    );
  } finally {
    await before.end();
  }
  await pool.query(
    `update pg_database set datlocale = 'en-US-u-kf-upper-kr-latn-digit-punct' where datname = $1`,
    [name],
  );

  const after = new Pool({ connectionString: url.href });
  const app = await startApp(moved, { unknownTasks: 'leave' });
  try {
    const { rows: sorted } = await after.query(`select '1' > 'a' as moved`);
    expect(sorted).toEqual([{ moved: true }]);
    expect((await after.query(keep, [keys])).rowCount).toBe(0);
    for (const topic of keys) await app.queue.insertTaskPubSub({ topic });
    await until(async () => {
      const { rows } = await after.query(`select from tasks where pub_sub and status = 'sucesso'`);
      return rows.length === keys.length;
    }, 'all publications');
    const { rows } = await after.query(
      'select mensagem, count(*)::int as n from tasks where pub_sub group by 1',
    );
    expect(rows).toEqual([{ mensagem: 'delivered to 1 subscription', n: keys.length }]);
  } finally {
    await app.close();
    await after.end();
    await until(async () => {
      const { rows } = await pool.query('select from pg_stat_activity where datname = $1', [name]);
      return rows.length === 0;
    }, 'all sessions to end');
    await pool.query(`drop database ${name}`);
  }
});
