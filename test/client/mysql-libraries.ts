import { EntitySchema, MikroORM } from '@mikro-orm/mysql';
import { sql } from 'drizzle-orm';
import { drizzle, type MySql2Database } from 'drizzle-orm/mysql2';
import knexModule, { type Knex } from 'knex';
import { Kysely, MysqlDialect } from 'kysely';
import { createPool as createCallbackPool, type TypeCastField, type TypeCastNext } from 'mysql2';
import { createPool, type Pool, type PoolConnection } from 'mysql2/promise';
import { Sequelize } from 'sequelize';
import { DataSource } from 'typeorm';
import {
  fromDrizzle,
  fromKnex,
  fromKysely,
  fromMikroOrm,
  fromMysql2,
  fromPrisma,
  fromSequelize,
  fromTypeOrm,
  type SqlHandle,
} from '../../lib/index.js';
import type { MysqlTestDatabase } from '../support/mysql.js';
import type { Transaction } from './libraries.js';

/** The libraries for which there is an adapter, connected to one database of MySQL or MariaDB. */
export interface MysqlLibraries {
  readonly dataSource: DataSource;
  readonly knex: Knex;
  readonly onMysql2: MySql2Database;
  readonly kysely: Kysely<unknown>;
  readonly orm: MikroORM;
  readonly sequelize: Sequelize;
  readonly pool: Pool;
  /** A transaction of each, by the name of the library. */
  readonly transactions: Readonly<Record<string, Transaction>>;
  close(): Promise<void>;
}

/** Connects all of them, as their users do: each reads numbers and times in its own way. */
export async function openMysqlLibraries({ url }: Pick<MysqlTestDatabase, 'url'>): Promise<MysqlLibraries> {
  const dataSource = await new DataSource({ type: 'mysql', url }).initialize();
  const knex = knexModule({ client: 'mysql2', connection: url, pool: { min: 0, max: 2 } });
  const pool = createPool(url);
  const ownTypes = createPool({ uri: url, typeCast: readInOwnWay });
  const onMysql2 = drizzle(pool);
  const kysely = new Kysely<unknown>({ dialect: new MysqlDialect({ pool: createCallbackPool(url) }) });
  const properties = { id: { type: 'string', primary: true } } as const;
  const orm = await MikroORM.init({
    clientUrl: url,
    entities: [new EntitySchema({ name: 'Order', tableName: 'orders', properties })],
  });
  const sequelize = new Sequelize(url, { logging: false });

  const transactions: Readonly<Record<string, Transaction>> = {
    'TypeORM EntityManager': (work) => dataSource.transaction((manager) => work(fromTypeOrm(manager))),
    Knex: (work) => knex.transaction((trx) => work(fromKnex(trx))),
    'Drizzle on mysql2': (work) => onMysql2.transaction((tx) => work(fromDrizzle(tx, sql))),
    Kysely: (work) => kysely.transaction().execute((trx) => work(fromKysely(trx))),
    MikroORM: (work) => orm.em.fork().transactional((em) => work(fromMikroOrm(em))),
    Sequelize: (work) => sequelize.transaction((transaction) => work(fromSequelize(sequelize, transaction))),
    mysql2: (work) => onConnection(pool, work, fromMysql2),
    'mysql2 with typeCast': (work) => onConnection(ownTypes, work, fromMysql2),
    'the shape of Prisma': (work) => onConnection(pool, work, ofPrisma),
  };
  return {
    dataSource,
    knex,
    onMysql2,
    kysely,
    orm,
    sequelize,
    pool,
    transactions,
    close: async () => {
      await dataSource.destroy();
      await knex.destroy();
      await kysely.destroy();
      await orm.close();
      await sequelize.close();
      await pool.end();
      await ownTypes.end();
    },
  };
}

/** What an application makes of values other than text: nothing that a number, a time or a truth can be read from. */
function readInOwnWay(field: TypeCastField, next: TypeCastNext): unknown {
  return /STRING|BLOB/.test(field.type) ? next() : { own: field.string() };
}

async function onConnection<T>(
  pool: Pool,
  work: (tx: SqlHandle) => Promise<T>,
  adapt: (connection: PoolConnection) => SqlHandle,
): Promise<T> {
  const connection = await pool.getConnection();
  await connection.beginTransaction();
  try {
    const result = await work(adapt(connection));
    await connection.commit();
    return result;
  } catch (error) {
    await connection.rollback();
    throw error;
  } finally {
    connection.release();
  }
}

/** What an interactive Prisma transaction offers here: rows as an array, wide integers as BigInt, none of a change. */
function ofPrisma(connection: PoolConnection): SqlHandle {
  return fromPrisma({
    $queryRawUnsafe: async (text, ...values) => {
      const options = { sql: text, values, supportBigNumbers: true, bigNumberStrings: true };
      const [rows, fields] = await connection.query(options);
      if (!Array.isArray(rows)) return [];
      const wide = new Set(fields.filter(({ type }) => type === 8).map(({ name }) => name));
      const convert = ([name, value]: [string, unknown]): [string, unknown] =>
        wide.has(name) && value !== null ? [name, BigInt(value as string)] : [name, value];
      return rows.map((row) => Object.fromEntries(Object.entries(row).map(convert)));
    },
  });
}
