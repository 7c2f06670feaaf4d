import { EntitySchema, MikroORM } from '@mikro-orm/postgresql';
import { sql } from 'drizzle-orm';
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import { drizzle as drizzleOfPostgresJs, type PostgresJsDatabase } from 'drizzle-orm/postgres-js';
import knexModule, { type Knex } from 'knex';
import { Kysely, PostgresDialect } from 'kysely';
import { Client } from 'pg';
import postgres from 'postgres';
import { Sequelize } from 'sequelize';
import { DataSource } from 'typeorm';
import {
  fromDrizzle,
  fromKnex,
  fromKysely,
  fromMikroOrm,
  fromPostgresJs,
  fromPrisma,
  fromSequelize,
  fromTypeOrm,
  type SqlHandle,
} from '../../lib/index.js';
import type { TestDatabase } from '../support/database.js';

/** Another library's transaction, as its users have it. */
export type Transaction = <T>(work: (tx: SqlHandle) => Promise<T>) => Promise<T>;

/** The libraries for which there is an adapter, connected to one database. */
export interface Libraries {
  readonly dataSource: DataSource;
  readonly knex: Knex;
  readonly onNodePostgres: NodePgDatabase;
  readonly onPostgresJs: PostgresJsDatabase;
  readonly kysely: Kysely<unknown>;
  readonly orm: MikroORM;
  readonly postgresJs: postgres.Sql;
  readonly sequelize: Sequelize;
  /** A transaction of each, by the name of the library. */
  readonly transactions: Readonly<Record<string, Transaction>>;
  close(): Promise<void>;
}

/** Connects all of them. MikroORM knows the table `orders (id text primary key)`. */
export async function openLibraries({ url, pool }: TestDatabase): Promise<Libraries> {
  const dataSource = await new DataSource({ type: 'postgres', url }).initialize();
  const knex = knexModule({ client: 'pg', connection: url, pool: { min: 0, max: 2 } });
  const onNodePostgres = drizzle(pool);
  const postgresJs = postgres(url, { max: 2 });
  // Drizzle changes how its client reads dates.
  const ofDrizzle = postgres(url, { max: 2 });
  const onPostgresJs = drizzleOfPostgresJs(ofDrizzle);
  const kysely = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
  const properties = { id: { type: 'text', primary: true } } as const;
  const orm = await MikroORM.init({
    clientUrl: url,
    entities: [new EntitySchema({ name: 'Order', tableName: 'orders', properties })],
  });
  const sequelize = new Sequelize(url, { logging: false });
  const prismaClient = new Client({ connectionString: url });
  await prismaClient.connect();

  const transactions: Readonly<Record<string, Transaction>> = {
    'TypeORM EntityManager': (work) => dataSource.transaction((manager) => work(fromTypeOrm(manager))),
    'TypeORM QueryRunner': (work) => typeOrmTransaction(dataSource, work),
    Knex: (work) => knex.transaction((trx) => work(fromKnex(trx))),
    'Drizzle on node-postgres': (work) => onNodePostgres.transaction((tx) => work(fromDrizzle(tx, sql))),
    'Drizzle on postgres.js': (work) => onPostgresJs.transaction((tx) => work(fromDrizzle(tx, sql))),
    Kysely: (work) => kysely.transaction().execute((trx) => work(fromKysely(trx))),
    MikroORM: (work) => orm.em.fork().transactional((em) => work(fromMikroOrm(em))),
    'postgres.js': (work) => postgresJsTransaction(postgresJs, work),
    Sequelize: (work) => sequelize.transaction((transaction) => work(fromSequelize(sequelize, transaction))),
    'the shape of Prisma': (work) => prismaTransaction(prismaClient, work),
  };
  return {
    dataSource,
    knex,
    onNodePostgres,
    onPostgresJs,
    kysely,
    orm,
    postgresJs,
    sequelize,
    transactions,
    close: async () => {
      await dataSource.destroy();
      await knex.destroy();
      await orm.close();
      await postgresJs.end();
      await ofDrizzle.end();
      await sequelize.close();
      await prismaClient.end();
    },
  };
}

async function typeOrmTransaction<T>(
  dataSource: DataSource,
  work: (tx: SqlHandle) => Promise<T>,
): Promise<T> {
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
}

async function postgresJsTransaction<T>(
  postgresJs: postgres.Sql,
  work: (tx: SqlHandle) => Promise<T>,
): Promise<T> {
  let result: { value: Awaited<T> } | undefined;
  await postgresJs.begin(async (tx) => {
    result = { value: await work(fromPostgresJs(tx)) };
  });
  if (!result) throw new Error('the transaction did nothing');
  return result.value;
}

/**
 * What an interactive Prisma transaction offers here: rows as an array, int8 as BigInt, no column without a value. The real one needs a generated
 * client, whose generator downloads a program; fromPrisma was tried by hand with Prisma 7.10 and its `pg` adapter.
 */
async function prismaTransaction<T>(client: Client, work: (tx: SqlHandle) => Promise<T>): Promise<T> {
  const [int8, noValue] = [20, 2278];
  const tx = fromPrisma({
    $queryRawUnsafe: async (text, ...values) => {
      const { rows, fields } = await client.query<Record<string, unknown>>(text, values);
      if (fields.some(({ dataTypeID }) => dataTypeID === noValue)) {
        throw new Error(`Failed to deserialize column of type 'void'`);
      }
      const wide = new Set(fields.filter(({ dataTypeID }) => dataTypeID === int8).map(({ name }) => name));
      const convert = ([name, value]: [string, unknown]): [string, unknown] =>
        typeof value === 'string' && wide.has(name) ? [name, BigInt(value)] : [name, value];
      return rows.map((row) => Object.fromEntries(Object.entries(row).map(convert)));
    },
  });
  await client.query('begin');
  try {
    const result = await work(tx);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}
