import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { queueTables } from '../../../lib/storage/postgres/identifiers.js';
import { byIndexes } from '../../../lib/storage/postgres/purging.js';
import { queueStatements } from '../../../lib/storage/postgres/statements.js';
import { useDatabase } from '../../support/database.js';
import { createQueue } from '../../support/queue-app.js';

// Statistics of the empty table, as they are when an import or a flood came since, which autovacuum has not seen.
const rows = 100_000;
const { findPurgeable, lockPurgeable, purge } = queueStatements(queueTables('public', 'tasks', undefined));

const database = await useDatabase();
await createQueue(database, { layout: 'plain' });
const client = new Client({ connectionString: database.url });
await client.connect();
await client.query('alter table tasks set (autovacuum_enabled = off)');
await client.query('analyze tasks');
await client.query(
  `insert into tasks (processo, status, data_hora, id_inicial)
   select 'topic', 'sucesso', now() - interval '100 days', case when n % 10 = 0 then n - 1 end
   from generate_series(1, $1::int) n`,
  [rows],
);

afterAll(() => client.end());

async function explain(text: string, values: readonly unknown[]): Promise<string> {
  await client.query('begin');
  await client.query(byIndexes);
  const found = await client.query<{ 'QUERY PLAN': string }>(`explain (analyze, buffers) ${text}`, [
    ...values,
  ]);
  await client.query('rollback');
  return found.rows.map((row) => row['QUERY PLAN']).join('\n');
}

const block = Array.from({ length: 1_000 }, (_, index) => String(50_000 + index));

test.each([
  ['a look', findPurgeable.text, [60, '50000', 10_000, 1_000, null], 300_000],
  ['locking', lockPurgeable.text, [block], 10_000],
  ['a purge', purge.text, [block], 40_000],
])('%s reads what it is about, by the key and the indexes of chains', async (_, text, values, most) => {
  const plan = await explain(text, values);
  expect(plan).not.toMatch(/(Seq|Bitmap Heap) Scan on tasks\b/);
  // Every scan of the table has a condition: none walks an index whole.
  for (const [, after] of plan.matchAll(/Index (?:Only )?Scan using tasks_\w+ on tasks[^\n]*\n([^\n]*)/g)) {
    expect(after).toContain('Index Cond');
  }
  const pages = Number(/Buffers: shared hit=(\d+)/.exec(plan)?.[1]);
  expect(pages).toBeLessThan(most);
});
