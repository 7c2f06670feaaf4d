import { expect, test } from 'vitest';
import { Subscriber } from '../../../lib/index.js';
import { migrate, planMigration } from '../../../lib/storage/postgres/migration/migrate.js';
import { SchemaSession } from '../../../lib/storage/postgres/migration/schema-session.js';
import { schemaVersion } from '../../../lib/storage/postgres/schema/schema.js';
import { useDatabase } from '../../support/database.js';
import { createQueue, startApp } from '../../support/queue-app.js';
import { until } from '../../support/waiting.js';
import { withClient } from '../../support/with-client.js';

const database = await useDatabase();
const { pool } = database;

class Handlers {
  @Subscriber('search-index')
  index(): void {}
}

test.each([
  ['plain', {}],
  ['partitioned', { layout: { partitionIds: 1_000 } }],
] as const)(
  'tables without a key and a column, %s, get them while a worker renews its lease and a producer inserts',
  async (table, layout) => {
    const options = { table, queue: table, subscriptionTable: `${table}_subscriber` };
    await createQueue(database, { ...options, ...layout });
    await pool.query(`drop table ${table}_seal; alter table ${table} drop column erro;
      update tarefa_migration set version = 0 where table_name = '${table}';
      insert into ${table}_subscriber (id, processo, url) values ('search-index', 'sold', 'https://example.com')`);
    await expect(startApp(database, { ...options, schema: 'check' })).rejects.toMatchObject({
      code: 'SCHEMA_MISSING',
      message: expect.stringContaining(
        `missing column "public"."${table}".erro, table "public"."${table}_seal", version ${schemaVersion} of its tables (they have 0)`,
      ),
    });

    const isOver = { yet: false };
    let inserted = 0;
    const others = withClient(database, async (client) => {
      const { rows } = await client.query<{ id: string }>(
        `insert into ${table}_worker (host, pid, version, concurrency, routes) values ('other', 1, '0.1.0', 1, '{}') returning id`,
      );
      do {
        await client.query(`insert into ${table} (processo, pub_sub) values ('sold', true)`);
        await client.query(
          `update ${table}_worker set lease_until = clock_timestamp() + interval '10 s' where id = $1`,
          [rows[0]?.id],
        );
        inserted += 1;
      } while (!isOver.yet);
    });
    await until(async () => inserted > 0, 'they are at it');
    const session = await SchemaSession.open(pool, { pauseMs: 20 });
    const name = { schema: undefined, table };
    const names = {
      table: name,
      subscriptionTable: { schema: undefined, table: `${table}_subscriber` },
      channel: table,
      webhooks: false,
    };
    try {
      const { steps } = await planMigration(session, names);
      expect(steps.map(({ what }) => what)).toEqual([
        'create the key that deliveries are sealed with',
        'add erro',
        `record version ${schemaVersion}`,
      ]);
      await migrate(session, names);
      expect(await planMigration(session, names)).toMatchObject({
        version: schemaVersion,
        steps: [],
      });
    } finally {
      await session.close();
      isOver.yet = true;
    }
    await others;

    const app = await startApp(database, { ...options, schema: 'check', handlers: [Handlers] });
    await until(async () => {
      const { rows } = await pool.query<{ n: number }>(
        `select count(*)::int as n from ${table} where subscriber_id is not null and payload like '%"seal" : "%'`,
      );
      return rows[0]?.n === inserted;
    }, 'all that was inserted is delivered, and sealed');
    await app.close();
  },
);
