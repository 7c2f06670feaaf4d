import type { OnApplicationShutdown } from '@nestjs/common';
import type { SqlHandle } from '../../lib/index.js';
import { settings } from '../settings.js';
import type { ShopSql } from './shop-sql.js';

/** The shop's own connections, as any application has them; the queue opens its own to the same database. */
export abstract class Database implements OnApplicationShutdown {
  abstract readonly sql: ShopSql;

  abstract query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;

  /** Commits what `work` did, or leaves no trace of it. */
  abstract transaction<Result>(work: (tx: SqlHandle) => Promise<Result>): Promise<Result>;

  abstract onApplicationShutdown(): Promise<void>;
}

/** Connects to `DATABASE_URL`, or to the same embedded PostgreSQL as the queue, and makes the shop's tables. */
export async function openDatabase(): Promise<Database> {
  const { databaseUrl = '' } = settings;
  const database = /^(?:mysql|mariadb):/.test(databaseUrl)
    ? (await import('./mysql-database.js')).openMysql(databaseUrl)
    : await (await import('./postgres-database.js')).openPostgres();
  await database.query(database.sql.createTables);
  return database;
}
