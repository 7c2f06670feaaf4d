import { randomBytes } from 'node:crypto';
import { Client, Pool } from 'pg';
import { inject } from 'vitest';

/** A database of its own on the run's server. */
export interface TestDatabase {
  readonly url: string;
  readonly pool: Pool;
  /** Ends the pool and removes the database, whoever is still connected. */
  drop(): Promise<void>;
}

/** Makes an empty database; one per test file is the rule. */
export async function createDatabase(): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await onServer(`create database ${name}`);
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

async function onServer(sql: string): Promise<void> {
  const client = new Client({ connectionString: inject('databaseUrl') });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
