import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { afterAll, describe, expect, test } from 'vitest';
import {
  fromDrizzle,
  fromKnex,
  fromKysely,
  fromMikroOrm,
  fromPostgresJs,
  fromPrisma,
  fromSequelize,
  fromTypeOrm,
  QueueAdmin,
  QueueClient,
  type EquivalentTaskInput,
  type SqlHandle,
  type TaskInput,
} from '../../lib/index.js';
import { useDatabase } from '../support/database.js';
import { useApp } from '../support/queue-app.js';
import { openLibraries } from './libraries.js';

const beyondDoubles = 9_007_199_254_740_993n;
const database = await useDatabase();
const { app } = await useApp(database, { worker: false });
const admin = app.get(QueueAdmin);
await database.pool.query(`select setval('tasks_id_seq', ${beyondDoubles})`);
await database.pool.query('create table orders (id text primary key)');
const queue = new QueueClient(database.pool, { table: 'tasks' });
const libraries = await openLibraries(database);
const { dataSource, knex, onNodePostgres, onPostgresJs, kysely, orm, postgresJs, sequelize } = libraries;

afterAll(() => libraries.close());

/** Texts on which placeholders, quotes and encodings break, and numbers that doubles cannot hold. */
function task(externalKey: string): TaskInput & { readonly topic: string } {
  return {
    topic: 'olá ? $1 ?? :name 🦄',
    payload: { note: 'it\'s "日本" \\ ? $2', amount: '9007199254740993' },
    externalKey,
    tenant: beyondDoubles,
    priority: 7,
    metadata: { question: '?', nested: { list: [1, '$3', null] } },
  };
}

describe.each(Object.entries(libraries.transactions))('a transaction of %s', (_, transaction) => {
  test('commits the tasks with its own rows', async () => {
    const key = randomUUID();
    const ids = await transaction(async (tx) => {
      await tx.query('insert into orders values ($1::text)', [key]);
      const one = await queue.insertTask({ ...task(key), delayMs: 60_000.5 }, { tx });
      const many = await queue.insertTasks(
        [task(key), { ...task(key), runAt: new Date('2031-02-03T04:05:06.789Z') }],
        {
          tx,
        },
      );
      const publication = await queue.insertTaskPubSub(task(key), { tx });
      return [one, ...many, publication];
    });
    expect(ids.every((id) => BigInt(id) > beyondDoubles)).toBe(true);
    const equal = await queue.listEquivalentTask(pick(key));
    expect(equal.map(({ id }) => id)).toEqual(ids);
    expect(equal.map(({ status }) => status)).toEqual(['scheduled', 'pending', 'scheduled', 'pending']);
    expect(equal[2]?.dueAt.toISOString()).toBe('2031-02-03T04:05:06.789Z');
    const { topic, payload, metadata } = task(key);
    expect(equal[0]).toMatchObject({ topic, metadata, tenant: String(beyondDoubles), priority: 7 });
    expect(JSON.parse(equal[0]?.payload ?? '')).toEqual(payload);
    expect(await countOrders(key)).toBe(1);
  });

  test('replaces the task that has a unique key', async () => {
    const unique = { key: randomUUID(), while: 'pending', onConflict: 'replace' } as const;
    const replace = (payload: string): Promise<string> =>
      transaction((tx) => queue.insertTask({ topic: 'debounced', payload, unique }, { tx }));
    const id = await replace('first');
    expect(await replace('second')).toBe(id);
    expect((await admin.find(id)).current.payload).toBe('second');
  });

  test('sees its own tasks before it commits, and leaves nothing when it rolls back', async () => {
    const key = randomUUID();
    const rolledBack = transaction(async (tx) => {
      await tx.query('insert into orders values ($1::text)', [key]);
      const id = await queue.insertTask(task(key), { tx });
      const found = await queue.listEquivalentTask(pick(key), { tx });
      throw new Error(found[0]?.id === id ? 'as wanted' : `it found ${JSON.stringify(found)}`);
    });
    await expect(rolledBack).rejects.toThrow('as wanted');
    expect(await queue.listEquivalentTask(pick(key))).toEqual([]);
    expect(await countOrders(key)).toBe(0);
  });

  test('cancels tasks by their ids and by their key when it commits, and none when it rolls back', async () => {
    const key = randomUUID();
    const ids = await queue.insertTasks([task(key), { ...task(key), delayMs: 3_600_000 }]);
    const [one = '', other = ''] = ids;
    const cancelAll = async (tx: SqlHandle): Promise<readonly string[]> => [
      ...(await admin.cancel([one], { tx, by: 'ana' })).cancelled,
      ...(await admin.cancel({ topic: task(key).topic, externalKey: key }, { tx })).cancelled,
    ];
    const rolledBack = transaction(async (tx) => {
      throw new Error(`${(await cancelAll(tx)).length} were cancelled`);
    });
    await expect(rolledBack).rejects.toThrow('2 were cancelled');
    expect((await admin.list({ ids })).tasks.map(({ status }) => status)).toEqual(['scheduled', 'pending']);
    expect(await transaction(cancelAll)).toEqual(ids);
    const { tasks } = await admin.list({ ids });
    expect(tasks.map(({ id, status, cancelledBy }) => [id, status, cancelledBy])).toEqual([
      [other, 'cancelled', null],
      [one, 'cancelled', 'ana'],
    ]);
  });

  test('answers rows as a pg client does, none where nothing matched', async () => {
    const key = randomUUID();
    await transaction(async (tx) => {
      await tx.query('insert into orders values ($1::text)', [key]);
      const updated = await tx.query('update orders set id = id where id = $1::text returning id', [key]);
      const missed = await tx.query('update orders set id = id where id = $1::text returning id', ['none']);
      const deleted = await tx.query('delete from orders where id = $1::text returning id', [key]);
      expect([updated.rows, missed.rows, deleted.rows]).toEqual([[{ id: key }], [], [{ id: key }]]);
      // A question mark that is an operator, and a parameter that is used twice.
      const asked = await tx.query("select $2::text = $2::text and $1::text::jsonb ? 'a' as has", [
        '{"a":1}',
        'x',
      ]);
      expect(asked.rows).toEqual([{ has: true }]);
    });
  });
});

test.each<[string, () => SqlHandle]>([
  ['TypeORM', () => fromTypeOrm(dataSource)],
  ['TypeORM', () => fromTypeOrm(dataSource.manager)],
  ['TypeORM', () => fromTypeOrm(dataSource.createQueryRunner())],
  ['Knex', () => fromKnex(knex)],
  ['Drizzle', () => fromDrizzle(onNodePostgres, sql)],
  ['Drizzle', () => fromDrizzle(onPostgresJs, sql)],
  ['Kysely', () => fromKysely(kysely)],
  ['MikroORM', () => fromMikroOrm(orm.em.fork())],
  ['postgres.js', () => fromPostgresJs(postgresJs)],
  ['Sequelize', () => fromSequelize(sequelize, undefined as never)],
  ['Prisma', () => fromPrisma({ $connect: () => {}, $queryRawUnsafe: async () => [] } as never)],
])('%s without a transaction is refused', (_, adapt) => {
  expect(adapt).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }) as Error);
  expect(adapt).toThrow(/a transaction is required/);
});

function pick(key: string): EquivalentTaskInput {
  const { priority: _priority, metadata: _metadata, ...equal } = task(key);
  return equal;
}

async function countOrders(key: string): Promise<number> {
  const { rows } = await database.pool.query<{ n: number }>(
    'select count(*)::int as n from orders where id = $1',
    [key],
  );
  return rows[0]?.n ?? -1;
}
