import { Client } from 'pg';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import type { Claims } from '../../../lib/storage/claims.js';
import { ClaimCursor } from '../../../lib/storage/claiming/claim-request.js';
import { controlSettings } from '../../../lib/storage/postgres/connections/connection-config.js';
import { queueTables } from '../../../lib/storage/postgres/identifiers.js';
import { queueStatements } from '../../../lib/storage/postgres/statements.js';
import { claimForms } from '../../../lib/storage/postgres/statements/settle-and-claim.js';
import { useExpensiveFront } from './expensive-front.js';
import { useStorage } from '../../support/queue-storage.js';
import { until } from '../../support/waiting.js';

// Ids below ten are in one partition, ids from 10 to 19 in the next, and so on up to 59; all others in the default one.
const bench = useStorage({ layout: { partitionIds: 10 } });
const front = useExpensiveFront();
const statements = queueStatements(queueTables('public', 'tasks', undefined));
const everything = '-9223372036854775808';

beforeAll(async () => {
  for (const low of [20, 30, 40, 50])
    await bench.pool.query(
      `create table tasks_${low} partition of tasks for values from (${low}) to (${low + 10})`,
    );
});

/** The next id is the one after that. */
beforeEach(() => lastId(45));

async function lastId(id: number): Promise<void> {
  await bench.pool.query(`select setval('tasks_id_seq', $1)`, [id]);
}

async function insert(id: number, status = 'pendente'): Promise<void> {
  await bench.pool.query(
    `insert into tasks (id, processo, status, data_hora) values ($1, 'a', $2, now() - interval '1 hour')`,
    [id, status],
  );
}

async function floor(): Promise<string | null> {
  const { rows } = await bench.pool.query<{ id: string | null }>(statements.oldestUnfinished.text);
  return rows[0]?.id ?? null;
}

test.each(['pendente', 'agendada', 'processando'])(
  'the floor is where the partition begins that holds the oldest attempt that is %s',
  async (status) => {
    await insert(12, status);
    await insert(25, status);
    await insert(44, status);
    expect(await floor()).toBe('10');
  },
);

test('where all have ended it is the partition before the one that is filled: commits take time', async () => {
  for (const status of ['sucesso', 'falha']) await insert(status === 'falha' ? 11 : 12, status);
  expect(await floor()).toBe('30');
  await lastId(39);
  expect(await floor()).toBe('20');
  await lastId(3);
  expect(await floor()).toBe('0');
});

test('ids of the default partition say nothing: claims always look into it', async () => {
  await insert(-3);
  await insert(1_000);
  expect(await floor()).toBe('30');
});

test('claims leave out what lies below, a sweep finds what was set back there, and then all is looked into', async () => {
  const claims: Claims = bench.database.claimsOf(bench.workerId, { concurrency: 1, warn: () => undefined });
  const claim = async (): Promise<string | undefined> => {
    const demand = { routes: [{ route: 't:a', limit: 1 }], total: 1, order: 'age' } as const;
    return (await claims.settleAndClaim([], demand)).claimed[0]?.id;
  };
  await insert(12, 'sucesso');
  for (let id = 46; id < 50; id += 1) await insert(id);
  expect(await claim()).toBe('46');
  expect(front.bounded).toBe(false);
  await until(
    async () => (await claim()) !== undefined && front.bounded && front.values.at(-3) === '30',
    'a floor',
  );
  await bench.pool.query(`update tasks set status = 'pendente', prioridade = 90 where id = 12`);
  expect(await claim()).not.toBe('12');
  expect(front.bounded).toBe(true);
  front.passTime(60_000);
  expect(await claim()).toBe('12');
  await claim();
  expect([front.bounded, front.values.at(-3)]).toEqual([true, everything]);
});

test('a partition below the floor, or below what is completed, is left out before a statement begins', async () => {
  const client = new Client({ connectionString: String(bench.pool.options.connectionString) });
  await client.connect();
  try {
    await client.query(controlSettings);
    const settled = `'{41,42}', '{1,1}', '{m,m}', '{r,r}', 7`;
    const looks = `${settled}, '{t:a}', '{10}', 10, '{null}', '{1}', '{1}', '{50}', '{50}', '{-infinity}', 30, '{}', false`;
    const { rows: versions } = await client.query<{ number: number }>(
      `select current_setting('server_version_num')::int as number`,
    );
    // PostgreSQL 13 updates every partition of a table by a plan of its own.
    const updates = Number(versions[0]?.number) >= 140_000 ? 1 : 0;
    const leftOut = async (text: string, types: string, values: string): Promise<number> => {
      await client.query(`prepare one (${types}) as ${text}`);
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(
        `explain (costs off) execute one (${values})`,
      );
      await client.query('deallocate one');
      return rows.filter((row) => row['QUERY PLAN'].includes('Subplans Removed: ')).length;
    };
    const settling = 'bigint[], int[], text[], text[], bigint';
    expect(await leftOut(statements.settle.text, settling, settled)).toBe(1 + updates);
    const claiming = `${settling}, text[], int[], int, boolean[], int[], int[], int[], int[], timestamptz[], bigint, bigint[], boolean`;
    for (const form of claimForms.filter(({ start }) => start === 'positions')) {
      const { text } = statements.settleAndClaim(form);
      const counts = form.shape === 'counted';
      const [types, values] = counts ? [`${claiming}, int`, `${looks}, 5`] : [claiming, looks];
      // What it looks at, twice when it counts, what it completes, and what it claims.
      const wanted = (counts ? 2 : 1) + 2 * updates;
      expect({ form, leftOut: await leftOut(text, types, values) }).toEqual({ form, leftOut: wanted });
    }
  } finally {
    await client.end();
  }
});

test('when the floor moves, sweeps are compared with what bounded claims take from then on', async () => {
  let clock = 0;
  const cursor = new ClaimCursor(0, () => clock);
  const routes = [{ route: 't:a', limit: 1 }];
  const claim = (tookMs: number): boolean => {
    const request = { shape: 'single', stretches: cursor.stretches(routes), total: 1, depth: 1 } as const;
    cursor.sent(request);
    clock += tookMs;
    const nothing = { settledOnly: undefined, claimed: [], lockedRoutes: [], moreRoutes: undefined };
    const exhausted = { exhaustedAt: '2026-01-01T00:00:00Z', contended: false, isCut: false, refused: [] };
    cursor.learn(request, { ...nothing, ...exhausted }, tookMs);
    return request.stretches.some((stretch) => 'bounds' in stretch);
  };
  // As slow as each other: every claim may start at the front.
  for (let count = 0; count < 10; count += 1) claim(10);
  clock += 60_000;
  claim(10);
  expect([claim(10), claim(10)]).toEqual([false, false]);
  cursor.boundsMoved();
  claim(10);
  expect([claim(1), claim(1)]).toEqual([true, true]);
});
