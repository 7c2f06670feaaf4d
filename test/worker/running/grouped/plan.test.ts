import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { completionSettings } from '../../../../lib/storage/postgres/postgres-group.js';
import { prepareSchema } from '../../../../lib/storage/postgres/schema/prepare-schema.js';
import { queueStatements } from '../../../../lib/storage/postgres/statements.js';
import { useDatabase } from '../../../support/database.js';

const database = await useDatabase();
const client = new Client({ connectionString: database.url });
await client.connect();

afterAll(() => client.end());

test('completions that were planned on an empty table find their rows by key when a backlog has come', async () => {
  const { tables } = await prepareSchema((work) => work(client), {
    table: { schema: undefined, table: 'tasks' },
    subscriptionTable: undefined,
    channel: 'tasks',
    mode: 'create',
    webhooks: false,
  });
  const { text } = queueStatements(tables).completeManyOrRaise;
  const execute = `execute done('{1,2}', 7, '{1,1}', '{m,m}', '{null,null}')`;
  await client.query(`prepare done(bigint[], bigint, int[], text[], text[]) as ${text}`);
  for (let round = 0; round < 7; round += 1) {
    await client.query(`begin; ${completionSettings}`);
    await expect(client.query(execute)).rejects.toMatchObject({ code: '22012' });
    await client.query('rollback');
  }
  await client.query(`insert into tasks (processo) select 'topic' from generate_series(1, 50000)`);
  await client.query(`begin; ${completionSettings}`);
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain ${execute}`);
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toContain('Index Scan using tasks_pkey');
  expect(plan).not.toMatch(/(Seq|Bitmap Heap) Scan on tasks|tasks_running/);
  await client.query('rollback');
});
