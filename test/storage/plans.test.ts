import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { controlSettings } from '../../lib/storage/postgres/connection-config.js';
import { prepareSchema } from '../../lib/storage/postgres/prepare-schema.js';
import { queueStatements, type QueueStatements } from '../../lib/storage/postgres/statements.js';
import { createDatabase, type TestDatabase } from '../support/database.js';

// A worker that starts on an empty table plans its statements then, and keeps these plans when a backlog has
// come. So the statements are prepared and run on the empty table, and explained after it was filled.
const backlog = 100_000;
const routes = "'{p,t:topic1,t:topic2}', '{10,10,10}', 10";

const calls: Partial<Record<keyof QueueStatements, { readonly types: string; readonly values: string }>> = {
  settleAndClaim: {
    types: 'bigint[], int[], text[], text[], bigint, text[], int[], int',
    values: `'{1}', '{1}', '{m}', '{r}', 7, ${routes}`,
  },
  fail: {
    types:
      'bigint[], int[], bigint[], text[], text[], int[], float8[], boolean[], timestamptz[], boolean[], boolean[]',
    values: `'{1}', '{1}', '{7}', '{m}', '{e}', '{3}', '{5}', '{f}', '{null}', '{f}', '{f}'`,
  },
  completeOrRaise: { types: 'bigint, bigint, int, text, text', values: `1, 7, 1, 'm', null` },
  release: { types: 'bigint[], int[], bigint', values: `'{1}', '{1}', 7` },
  promote: { types: 'int', values: '100' },
  pendingRoutes: { types: '', values: '' },
  readHeld: { types: 'bigint, int', values: '7, 100' },
  workersInUse: { types: '', values: '' },
  loadPayload: { types: 'bigint', values: '1' },
};

let database: TestDatabase;
let client: Client;
const plans = new Map<string, string>();

beforeAll(async () => {
  database = await createDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
  const { tables } = await prepareSchema((work) => work(client), {
    table: { schema: undefined, table: 'tasks' },
    subscriptionTable: { schema: undefined, table: 'tasks_subscriber' },
    channel: 'tasks',
    mode: 'create',
  });
  const statements = queueStatements(tables);
  await client.query(controlSettings);
  for (const [name, call] of entries()) {
    await client.query(`prepare ${name}${call.types && `(${call.types})`} as ${statements[name].text}`);
    if (name === 'completeOrRaise') continue;
    await client.query(execute(name, call.values));
  }
  await client.query(
    `insert into tasks (processo, payload) select 'topic' || g % 10, '{}' from generate_series(1, $1::int) g`,
    [backlog],
  );
  for (const [name, call] of entries()) {
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain ${execute(name, call.values)}`);
    plans.set(name, rows.map((row) => row['QUERY PLAN']).join('\n'));
  }
});

afterAll(async () => {
  await client?.end();
  await database?.drop();
});

test.each(Object.keys(calls))('%s never reads the whole table', (name) => {
  expect(plans.get(name)).not.toMatch(/(Seq|Bitmap Heap) Scan on tasks\b(?!_)/);
});

test('claims walk the index of ready tasks, in its order', () => {
  const plan = plans.get('settleAndClaim');
  expect(plan?.match(/Index Scan using tasks_ready/g)).toHaveLength(2);
  // The one sort that remains is over the rows the routes have offered, and over those that were claimed.
  expect(plan?.match(/Sort Key: .*prioridade DESC/g)).toHaveLength(2);
});

test.each(['settleAndClaim', 'completeOrRaise', 'fail', 'release'])(
  '%s finds the rows it settles by their key: the running index decays under an old snapshot',
  (name) => {
    expect(plans.get(name)).toContain('Index Scan using tasks_pkey');
    expect(plans.get(name)).not.toContain('tasks_running');
  },
);

test('promotion walks the index of scheduled tasks, recovery that of running ones', () => {
  expect(plans.get('promote')?.match(/using tasks_scheduled/g)).toHaveLength(2);
  expect(plans.get('readHeld')).toContain('using tasks_running');
  expect(plans.get('workersInUse')).toContain('using tasks_running');
  expect(plans.get('pendingRoutes')).toContain('using tasks_ready');
});

function entries(): [keyof QueueStatements, { types: string; values: string }][] {
  return Object.entries(calls) as [keyof QueueStatements, { types: string; values: string }][];
}

function execute(name: string, values: string): string {
  return `execute ${name}${values && `(${values})`}`;
}
