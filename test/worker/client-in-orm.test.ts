import { EntitySchema as MikroSchema, MikroORM } from '@mikro-orm/postgresql';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { bigint, integer, pgTable } from 'drizzle-orm/pg-core';
import knexModule, { type Knex } from 'knex';
import { Kysely, PostgresDialect } from 'kysely';
import type { PoolClient } from 'pg';
import { DataSource, EntitySchema, type QueryRunner } from 'typeorm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TaskHandler, type TaskContext } from '../../lib/index.js';
import { useQueue } from './queue-bench.js';

interface Effect {
  task: string;
  step: number;
}

const bench = useQueue();
const drizzleEffects = pgTable('effect', { task: bigint({ mode: 'bigint' }), step: integer() });
const typeOrmEffects = new EntitySchema<Effect>({
  name: 'effect',
  columns: { task: { type: 'bigint', primary: true }, step: { type: 'int', primary: true } },
});
const mikroEffects = new MikroSchema<Effect>({
  name: 'effect',
  properties: { task: { type: 'bigint', primary: true }, step: { type: 'integer', primary: true } },
});
let dataSource: DataSource;
let orm: MikroORM;
/** Without a connection: it only makes statements. */
let knex: Knex;

beforeAll(async () => {
  await bench.pool.query('create table effect (task bigint, step int, primary key (task, step))');
  const { url } = bench.database;
  dataSource = await new DataSource({ type: 'postgres', url, entities: [typeOrmEffects] }).initialize();
  orm = await MikroORM.init({ clientUrl: url, entities: [mikroEffects] });
  knex = knexModule({ client: 'pg' });
});

afterAll(async () => {
  await dataSource.destroy();
  await orm.close();
  await knex.destroy();
});

const kyselyOn = (client: PoolClient): Kysely<{ effect: Effect }> =>
  new Kysely({
    dialect: new PostgresDialect({ pool: { connect: async () => client, end: async () => undefined } }),
  });

function typeOrmOn(client: PoolClient): QueryRunner {
  const runner = dataSource.createQueryRunner();
  return Object.assign(runner, {
    databaseConnection: client,
    isTransactionActive: true,
    transactionDepth: 1,
  });
}

/** How each library inserts the steps 1 and 2 of a task and reads them back, as numbers. */
const libraries: Readonly<Record<string, (client: PoolClient, task: string) => Promise<unknown[]>>> = {
  Drizzle: async (client, task) => {
    const db = drizzle(client);
    await db.insert(drizzleEffects).values({ task: BigInt(task), step: 1 });
    await db.execute(sql`insert into effect values (${task}, 2)`);
    return (await db.select().from(drizzleEffects).orderBy(drizzleEffects.step)).map(({ step }) => step);
  },
  Kysely: async (client, task) => {
    const db = kyselyOn(client);
    await db
      .insertInto('effect')
      .values([
        { task, step: 1 },
        { task, step: 2 },
      ])
      .execute();
    return (await db.selectFrom('effect').select('step').orderBy('step').execute()).map(({ step }) => step);
  },
  Knex: async (client, task) => {
    await knex('effect')
      .insert([
        { task, step: 1 },
        { task, step: 2 },
      ])
      .connection(client);
    const rows = await knex<Effect>('effect').select('step').orderBy('step').connection(client);
    return rows.map(({ step }) => step);
  },
  TypeORM: async (client, task) => {
    const { manager } = typeOrmOn(client);
    await manager.save(typeOrmEffects, { task, step: 1 });
    // A transaction inside it is a savepoint.
    await manager.transaction((inner) => inner.insert(typeOrmEffects, { task, step: 2 }));
    const undone = manager.transaction(async (inner) => {
      await inner.insert(typeOrmEffects, { task, step: 3 });
      throw new Error('not this one');
    });
    await undone.catch(() => undefined);
    return (await manager.find(typeOrmEffects, { order: { step: 'asc' } })).map(({ step }) => step);
  },
};

/** Runs a handler once; returns its row and the steps that are there afterwards. */
async function runOnce(
  handle: (client: PoolClient, ctx: TaskContext) => Promise<unknown>,
  { grouped = false } = {},
) {
  class Handlers {
    @TaskHandler('work', { maxAttempts: 1, grouped })
    async work(_: unknown, ctx: TaskContext): Promise<unknown> {
      return handle(await ctx.client(), ctx);
    }
    @TaskHandler('next')
    async next(_: unknown, { db }: TaskContext): Promise<void> {
      await db.query('select 1');
    }
  }
  // One connection, so that the next task gets the one that the library had.
  const { queue } = await bench.start({ handlers: [Handlers], poolSize: 1 });
  const id = await queue.insertTask({ topic: 'work' });
  const row = await bench.ended(id);
  expect(await bench.ended(await queue.insertTask({ topic: 'next' }))).toMatchObject({ status: 'sucesso' });
  return { row, steps: await stepsOf(id) };
}

async function stepsOf(id: string): Promise<number[]> {
  const { rows } = await bench.pool.query<Effect>('select step from effect where task = $1 order by 1', [id]);
  await bench.pool.query('delete from effect where task = $1', [id]);
  return rows.map(({ step }) => step);
}

const failed = (text: string) => ({ status: 'falha', mensagem: expect.stringContaining(text) as unknown });

describe.each(Object.entries(libraries))('ctx.client() in %s', (_, work) => {
  test('what it does commits together with the success of the task', async () => {
    const { row, steps } = await runOnce(async (client, { task }) => {
      expect(await work(client, task.id)).toEqual([1, 2]);
      const { rows } = await bench.pool.query('select from effect where task = $1', [task.id]);
      expect(rows).toEqual([]);
    });
    expect(row).toMatchObject({ status: 'sucesso' });
    expect(steps).toEqual([1, 2]);
  });

  test('what it did is undone when the handler throws', async () => {
    const { row, steps } = await runOnce(async (client, { task }) => {
      await work(client, task.id);
      throw new Error('on second thoughts');
    });
    expect(row).toMatchObject(failed('on second thoughts'));
    expect(steps).toEqual([]);
  });
});

test('a library that gives the client back keeps it in a grouped handler as well', async () => {
  const work = libraries['Kysely'];
  const { row, steps } = await runOnce(async (client, { task }) => work?.(client, task.id), {
    grouped: true,
  });
  expect(row).toMatchObject({ status: 'sucesso' });
  expect(steps).toEqual([1, 2]);
});

const nested: Readonly<Record<string, (client: PoolClient) => Promise<unknown>>> = {
  // It takes the client for a pool, and is refused another connection.
  Drizzle: (client) => drizzle(client).transaction((tx) => tx.execute('select 1')),
  Kysely: (client) =>
    kyselyOn(client)
      .transaction()
      .execute((trx) => trx.selectFrom('effect').select('step').execute()),
  Knex: (client) =>
    knex.transaction((trx) => trx.raw('select 1'), { connection: client } as Knex.TransactionConfig),
};

test.each([
  ['Drizzle', 'Client has already been connected'],
  ['Kysely', 'leave COMMIT and ROLLBACK to the queue'],
  ['Knex', 'leave COMMIT and ROLLBACK to the queue'],
])('a transaction of %s on ctx.client() is not one inside that of the task: it fails', async (name, text) => {
  const { row } = await runOnce((client) => nested[name]?.(client) ?? Promise.resolve());
  expect(row).toMatchObject(failed(text));
});

test('MikroORM has no place for a foreign client: what it does commits alone', async () => {
  const { row, steps } = await runOnce(async (client, { task }) => {
    const em = orm.em.fork();
    em.setTransactionContext(client);
    await em.insert(mikroEffects, { task: task.id, step: 1 });
    throw new Error('on second thoughts');
  });
  expect(row).toMatchObject(failed('on second thoughts'));
  expect(steps).toEqual([1]);
});
