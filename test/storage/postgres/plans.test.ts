import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CancelTarget } from '../../../lib/storage/cancellation.js';
import { controlSettings } from '../../../lib/storage/postgres/connections/connection-config.js';
import { prepareSchema } from '../../../lib/storage/postgres/schema/prepare-schema.js';
import type { QueueTables } from '../../../lib/storage/postgres/identifiers.js';
import { retryTask } from '../../../lib/storage/postgres/statements/admin.js';
import { cancelTasks } from '../../../lib/storage/postgres/statements/cancel.js';
import { findInconsistencies } from '../../../lib/storage/postgres/statements/check.js';
import { buriedCounts, walkSettings } from '../../../lib/storage/postgres/statements/status.js';
import { queueStatements, type QueueStatements } from '../../../lib/storage/postgres/statements.js';
import { claimForms, type ClaimForm } from '../../../lib/storage/postgres/statements/settle-and-claim.js';
import { useDatabase } from '../../support/database.js';

// A worker that starts on an empty table plans its statements then, and keeps these plans when a backlog has
// come. So the statements are prepared and run on the empty table, and explained after it was filled.
const backlog = 100_000;

const settled = `'{1}', '{1}', '{m}', '{r}', 7`;
const settledTypes = 'bigint[], int[], text[], text[], bigint';
const routes = "'{p,t:topic1,t:topic2}', '{10,10,10}', 10, '{t,t,f}'";
const bounds = `'{1,2,3}', '{1,2,4}',
  '{2147483647,50,50,49}', '{-2147483648,50,50,-2147483648}', '{-infinity,2026-01-01,2026-01-01,-infinity}', 5`;

interface Call {
  readonly types: string;
  readonly values: string;
  readonly text: (statements: QueueStatements) => string;
}

const claims = claimForms.map(claim);

function claim(form: ClaimForm): readonly [string, Call] {
  const [bounded, counts] = [form.start === 'positions', form.shape === 'counted'];
  const boundTypes = ', int[], int[], int[], int[], timestamptz[], bigint';
  const types = `${settledTypes}, text[], int[], int, boolean[]${bounded ? boundTypes : ''}, bigint[], boolean${counts ? ', int' : ''}`;
  const values = `${settled}, ${routes}${bounded ? `, ${bounds}` : ''}, '{3,4}', false${counts ? ', 5' : ''}`;
  const name = `claim_${form.shape}_${form.start}`;
  return [name, { types, values, text: (statements) => statements.settleAndClaim(form).text }];
}

function plain(
  name: Exclude<keyof QueueStatements, 'settleAndClaim' | 'peekClaim'>,
  types: string,
  values: string,
): readonly [string, Call] {
  return [name, { types, values, text: (statements) => statements[name].text }];
}

const calls = new Map<string, Call>([
  ...claims,
  plain('settle', settledTypes, settled),
  plain(
    'fail',
    'bigint[], int[], bigint[], text[], text[], int[], float8[], boolean[], timestamptz[], boolean[], boolean[], boolean[]',
    `'{1}', '{1}', '{7}', '{m}', '{e}', '{3}', '{5}', '{f}', '{null}', '{f}', '{f}', '{f}'`,
  ),
  plain('completeOrRaise', 'bigint, bigint, int, text, text', `1, 7, 1, 'm', null`),
  plain('release', 'bigint[], int[], bigint', `'{1}', '{1}', 7`),
  plain('promote', 'int, bigint[], text[]', `100, '{3,4}', '{}'`),
  plain('promoteInTurn', 'int, bigint[], text[]', `100, '{3,4}', '{}'`),
  plain('routeHeads', 'text[], text[], int', `'{p,t:}', '{p!,t;}', 1000`),
  plain('readHeld', 'bigint, int, boolean', '7, 100, true'),
  plain('standing', 'bigint, bigint[]', `7, '{1}'`),
  plain('unregisteredHolders', '', ''),
  plain('takeOver', 'bigint, int, bigint[]', `7, 100, '{3,4}'`),
  plain('claimUnattended', 'bigint, int, bigint[], boolean', `7, 100, '{3,4}', false`),
  plain('retireWorker', 'bigint, boolean', '7, false'),
  plain(
    'nextDue',
    'bigint, bigint, text[], text[], text[], text[], text[], int',
    `7, 7, '{p,t:topic1,!t:topic1}', '{p!,t:topic1!,!t:topic1!}', '{t:topic1}', '{t:}', '{t;}', 1000`,
  ),
  plain('wouldClaim', 'text[], boolean[], bigint[]', `'{!p,!t:topic1,!t:topic2}', '{f,null,t}', '{3,4}'`),
  plain('waitingRoutes', '', ''),
  plain('oldestUnfinished', '', ''),
  plain('isHalted', 'bigint', '7'),
  plain('findUnfollowed', 'bigint[]', `'{1}'`),
  plain('lockUnfollowed', 'bigint[]', `'{1}'`),
  plain('insertUnfollowed', 'bigint[]', `'{1}'`),
  plain('loadPayload', 'bigint', '1'),
]);

const database = await useDatabase();
let client: Client;
let tables: QueueTables;
const plans = new Map<string, string>();

beforeAll(async () => {
  client = new Client({ connectionString: database.url });
  await client.connect();
  ({ tables } = await prepareSchema((work) => work(client), {
    table: { schema: undefined, table: 'tasks' },
    subscriptionTable: { schema: undefined, table: 'tasks_subscriber' },
    channel: 'tasks',
    mode: 'create',
    webhooks: false,
  }));
  const statements = queueStatements(tables);
  await client.query(controlSettings);
  for (const [name, call] of calls) {
    await client.query(`prepare ${name}${call.types && `(${call.types})`} as ${call.text(statements)}`);
    if (name === 'completeOrRaise') continue;
    await client.query(execute(name, call.values));
  }
  await client.query(
    `insert into tasks (processo, payload) select 'topic' || g % 10, '{}' from generate_series(1, $1::int) g`,
    [backlog],
  );
  for (const [name, call] of calls) {
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain ${execute(name, call.values)}`);
    plans.set(name, rows.map((row) => row['QUERY PLAN']).join('\n'));
  }
});

afterAll(() => client?.end());

test.each([...calls.keys()])('%s never reads the whole table', (name) => {
  expect(plans.get(name)).not.toMatch(/(Seq|Bitmap Heap) Scan on tasks\b(?!_)/);
});

test.each(claims.map(([name]) => name))('%s walks the index of ready tasks, in its order', (name) => {
  const plan = plans.get(name) ?? '';
  const looks = name.startsWith('claim_counted') ? 2 : 1;
  expect(plan.match(/Index Scan using tasks_ready/g)).toHaveLength(looks);
  // Sorted are rows that routes have offered, not those of the table.
  expect(plan).not.toMatch(/Sort[^\n]*\n(?:[^\n]*\n){1,2}\s*->\s+Index Scan using tasks_ready/);
});

test.each(claims.map(([name]) => name).filter((name) => name.endsWith('positions')))(
  '%s enters the index at its start',
  (name) => {
    const conditions = plans.get(name)?.match(/Index Cond: .*pub_sub.*/g) ?? [];
    expect(conditions).not.toHaveLength(0);
    for (const condition of conditions)
      expect(condition).toMatch(/prioridade <= .*prioridade >= .*data_hora >= /);
  },
);

test.each([...claims.map(([name]) => name), 'settle', 'completeOrRaise', 'fail', 'release', 'standing'])(
  '%s finds the rows it settles by their key: the running index decays under an old snapshot',
  (name) => {
    expect(plans.get(name)).toContain('Index Scan using tasks_pkey');
    expect(plans.get(name)).not.toContain('tasks_running');
  },
);

test.each([...claims.map(([name]) => name), 'settle'])(
  '%s does not look through all outcomes for each of them',
  (name) => {
    expect(plans.get(name)).toContain('Hash Join');
  },
);

test('dead attempts that nobody handles are found without a look at the others', () => {
  expect(plans.get('claimUnattended')).toContain('using tasks_dead_ready');
});

test('a retry finds by their indexes what follows its task, and what has its unique key', async () => {
  const plan = await planOf(retryTask(tables).replaceAll('$1', `'7'`));
  expect(plan).not.toMatch(/Seq Scan on tasks\b(?!_)/);
  expect(plan).toMatch(/tasks_successor[^]*tasks_unica|tasks_unica[^]*tasks_successor/);
});

test('a check of the newest attempts reads no others', async () => {
  const values: Readonly<Record<string, string>> = { $1: 'null', $2: '60', $3: `'99000'` };
  const text = findInconsistencies(tables, false).replaceAll(/\$\d/g, (name) => values[name] ?? name);
  await client.query(`begin; ${walkSettings}`);
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain ${text}`);
  await client.query('rollback');
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).not.toMatch(/Seq Scan on tasks\b(?!_)/);
  expect(plan.match(/Index Cond: \(id > '99000'::bigint\)/g)).toHaveLength(3);
});

test('tasks that gave up and have no dead task are looked for among the newest', async () => {
  await client.query(`begin; ${walkSettings}`);
  const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain ${buriedCounts(tables)}`);
  await client.query('rollback');
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).not.toMatch(/Seq Scan on tasks\b(?!_)/);
  expect(plan).toMatch(/Index Scan using tasks_pkey on tasks f\S*\s+\(.*\s+Index Cond: \(id > /);
});

test('tasks to cancel are found by their ids and by their key', async () => {
  const plan = (target: CancelTarget, first: string): Promise<string> =>
    planOf(
      cancelTasks(tables, target).replaceAll(/\$(\d)/g, (_, n: string) =>
        n === '1' ? `'${first}'` : `'off'`,
      ),
    );
  const byIds = await plan({ ids: ['7', '8'] }, '["7", "8"]');
  expect(byIds).not.toMatch(/Seq Scan on tasks\b(?!_)/);
  expect(byIds).toContain('tasks_attempts');
  expect(await plan({ topic: 'topic1', externalKey: 'k' }, 'k')).toContain('tasks_equivalent');
});

test('promotion walks the index of scheduled tasks, recovery that of running ones', () => {
  expect(plans.get('promote')?.match(/using tasks_scheduled/g)).toHaveLength(2);
  expect(plans.get('readHeld')).toContain('using tasks_running');
  expect(plans.get('unregisteredHolders')).toContain('using tasks_running');
  expect(plans.get('retireWorker')).toContain('using tasks_running');
  expect(plans.get('nextDue')).toContain('using tasks_scheduled');
  expect(plans.get('nextDue')?.match(/Index (Only )?Scan using tasks_ready/g)).toHaveLength(3);
  expect(plans.get('nextDue')).toContain('using tasks_running');
  expect(plans.get('nextDue')).toContain('using tasks_dead_ready');
  expect(plans.get('wouldClaim')).toMatch(/Limit[^\n]*\n\s*->\s+Index Scan using tasks_ready/);
  expect(plans.get('waitingRoutes')?.match(/using tasks_ready/g)).toHaveLength(3);
  expect(plans.get('routeHeads')?.match(/Index (Only )?Scan using tasks_ready/g)).toHaveLength(2);
});

/** Not on the connection that claims. */
async function planOf(text: string): Promise<string> {
  const { rows } = await database.pool.query<{ 'QUERY PLAN': string }>(`explain ${text}`);
  return rows.map((row) => row['QUERY PLAN']).join('\n');
}

function execute(name: string, values: string): string {
  return `execute ${name}${values && `(${values})`}`;
}
