import { randomBytes } from 'node:crypto';
import { Client, Pool } from 'pg';
import { afterAll, inject } from 'vitest';
import { fromMysql2, type SqlHandle } from '../../lib/index.js';
import { createMysqlDatabase } from './mysql.js';
import { speakingPool, type SpeakingClient } from './mysql-pool.js';
import { onPostgres, runsOn } from './run-database.js';

/** A database of its own on the run's server. */
export interface TestDatabase {
  readonly url: string;
  /** On MySQL and MariaDB only what takes and answers statements; see `spoken-sql.ts`. */
  readonly pool: Pool;
  /** Ends the pool and removes the database, whoever is still connected. */
  drop(): Promise<void>;
}

/**
 * Makes an empty database; one per test file is the rule.
 *
 * @param encoding as PostgreSQL names it. Default: the server's
 */
export async function createDatabase(encoding?: string): Promise<TestDatabase> {
  if (runsOn !== 'postgres') {
    const database = await createMysqlDatabase(runsOn);
    const pool = speakingPool(database.pool, runsOn) as unknown as Pool;
    return { url: database.url, pool, drop: () => database.drop() };
  }
  const name = `test_${randomBytes(8).toString('hex')}`;
  await onServer(`create database ${name}${encoding === undefined ? '' : await encodedAs(encoding)}`);
  const address = new URL(inject('databaseUrl'));
  address.pathname = `/${name}`;
  const pool = new Pool({ connectionString: address.href });
  // A test may cut the connections of idle clients; those errors belong to nobody.
  pool.on('error', () => undefined);
  return {
    url: address.href,
    pool,
    drop: async () => {
      await pool.end();
      await onServer(`drop database if exists ${name} with (force)`);
    },
  };
}

/** {@link createDatabase} of a test file: it goes when the file's tests have ended. */
export async function useDatabase(encoding?: string): Promise<TestDatabase> {
  const database = await createDatabase(encoding);
  afterAll(() => database.drop());
  return database;
}

/** A connection of its own, of which statements alone are asked on MySQL and MariaDB. */
export async function connectTo({ url, pool }: Pick<TestDatabase, 'url' | 'pool'>): Promise<Client> {
  // A speaking client ends as a client does.
  if (!onPostgres) return pool.connect() as Promise<unknown> as Promise<Client>;
  const client = new Client({ connectionString: url });
  await client.connect();
  return client;
}

/** What the library is given of a connection of {@link connectTo}. */
export function handleOf<T extends SqlHandle>(client: T): T {
  return onPostgres ? client : (fromMysql2((client as unknown as SpeakingClient).raw) as unknown as T);
}

/** The provider of the server's default locale may know UTF-8 only. */
async function encodedAs(encoding: string): Promise<string> {
  const [row] = await onServer(`select current_setting('server_version_num')::int >= 150000 as chooses`);
  const provider = row?.['chooses'] === true ? ' locale_provider libc' : '';
  return ` template template0 encoding '${encoding}' lc_collate 'C' lc_ctype 'C'${provider}`;
}

async function onServer(sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: inject('databaseUrl') });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
