import { randomUUID } from 'node:crypto';
import { EntitySchema, MikroORM } from '@mikro-orm/postgresql';
import { sql } from 'drizzle-orm';
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import { drizzle as drizzleOfPostgresJs, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import knexModule, { type Knex } from 'knex';
import { Kysely, PostgresDialect } from 'kysely';
import { Client } from 'pg';
import postgres from 'postgres';
import { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  fromDrizzle,
  fromKnex,
  fromKysely,
  fromMikroOrm,
  fromPostgresJs,
  fromPrisma,
  fromTypeOrm,
  QueueClient,
  type EquivalentTaskInput,
  type SqlHandle,
  type TaskInput,
} from '../../lib/index.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { startApp } from '../support/queue-app.js';

/** Another library's transaction, as its users have it. */
type Transaction = <T>(work: (tx: SqlHandle) => Promise<T>) => Promise<T>;

const beyondDoubles = 9_007_199_254_740_993n;
let database: TestDatabase;
let queue: QueueClient;
let dataSource: DataSource;
let knex: Knex;
let onNodePostgres: NodePgDatabase;
let onPostgresJs: PostgresJsDatabase;
let kysely: Kysely<unknown>;
let orm: MikroORM;
let postgresJs: postgres.Sql;
let ofDrizzle: postgres.Sql;
let prismaClient: Client;

beforeAll(async () => {
  database = await createDatabase();
  const app = await startApp(database, { worker: false });
  await app.close();
  queue = new QueueClient(database.pool, { table: 'tasks' });
  await database.pool.query(`select setval('tasks_id_seq', ${beyondDoubles})`);
  await database.pool.query('create table orders (id text primary key)');
  dataSource = await new DataSource({ type: 'postgres', url: database.url }).initialize();
  knex = knexModule({ client: 'pg', connection: database.url, pool: { min: 0, max: 2 } });
  onNodePostgres = drizzle(database.pool);
  postgresJs = postgres(database.url, { max: 2 });
  // Drizzle changes how its client reads dates.
  ofDrizzle = postgres(database.url, { max: 2 });
  onPostgresJs = drizzleOfPostgresJs(ofDrizzle);
  kysely = new Kysely({ dialect: new PostgresDialect({ pool: database.pool }) });
  const properties = { id: { type: 'text', primary: true } } as const;
  orm = await MikroORM.init({
    clientUrl: database.url,
    entities: [new EntitySchema({ name: 'Order', tableName: 'orders', properties })],
  });
  prismaClient = new Client({ connectionString: database.url });
  await prismaClient.connect();
});

afterAll(async () => {
  await dataSource.destroy();
  await knex.destroy();
  await orm.close();
  await postgresJs.end();
  await ofDrizzle.end();
  await prismaClient.end();
  await database.drop();
});

const transactions: Readonly<Record<string, Transaction>> = {
  'TypeORM EntityManager': (work) => dataSource.transaction((manager) => work(fromTypeOrm(manager))),
  'TypeORM QueryRunner': async (work) => {
    const runner = dataSource.createQueryRunner();
    await runner.startTransaction();
    try {
      const result = await work(fromTypeOrm(runner));
      await runner.commitTransaction();
      return result;
    } catch (error) {
      await runner.rollbackTransaction();
      throw error;
    } finally {
      await runner.release();
    }
  },
  Knex: (work) => knex.transaction((trx) => work(fromKnex(trx))),
  'Drizzle on node-postgres': (work) => onNodePostgres.transaction((tx) => work(fromDrizzle(tx, sql))),
  'Drizzle on postgres.js': (work) => onPostgresJs.transaction((tx) => work(fromDrizzle(tx, sql))),
  Kysely: (work) => kysely.transaction().execute((trx) => work(fromKysely(trx))),
  MikroORM: (work) => orm.em.fork().transactional((em) => work(fromMikroOrm(em))),
  'postgres.js': async (work) => {
    let result: { value: Awaited<ReturnType<typeof work>> } | undefined;
    await postgresJs.begin(async (tx) => {
      result = { value: await work(fromPostgresJs(tx)) };
    });
    if (!result) throw new Error('the transaction did nothing');
    return result.value;
  },
  'the shape of Prisma': prismaTransaction,
};

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

describe.each(Object.keys(transactions))('scenario 138: a transaction of %s', (name) => {
  const transaction: Transaction = (work) => {
    const found = transactions[name];
    if (!found) throw new Error(`no transaction of ${name}`);
    return found(work);
  };

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
  ['Prisma', () => fromPrisma({ $connect: () => {}, $queryRawUnsafe: async () => [] } as never)],
])('%s without a transaction is refused', (_, adapt) => {
  expect(adapt).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }) as Error);
  expect(adapt).toThrow(/a transaction was asked for/);
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

/**
 * What an interactive Prisma transaction offers here: rows as an array, int8 as BigInt. The real one needs a generated
 * client, whose generator downloads a program; fromPrisma was tried by hand with Prisma 7.10 and its `pg` adapter.
 */
async function prismaTransaction<T>(work: (tx: SqlHandle) => Promise<T>): Promise<T> {
  const int8 = 20;
  const tx = fromPrisma({
    $queryRawUnsafe: async (text, ...values) => {
      const { rows, fields } = await prismaClient.query<Record<string, unknown>>(text, values);
      const wide = new Set(fields.filter(({ dataTypeID }) => dataTypeID === int8).map(({ name }) => name));
      const convert = ([name, value]: [string, unknown]): [string, unknown] =>
        typeof value === 'string' && wide.has(name) ? [name, BigInt(value)] : [name, value];
      return rows.map((row) => Object.fromEntries(Object.entries(row).map(convert)));
    },
  });
  await prismaClient.query('begin');
  try {
    const result = await work(tx);
    await prismaClient.query('commit');
    return result;
  } catch (error) {
    await prismaClient.query('rollback');
    throw error;
  }
}
