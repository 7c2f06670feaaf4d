import type { PoolClient } from 'pg';
import type { TestDatabase } from './database.js';

/** Lends a connection of the test's pool, and closes it when the work has ended, well or badly. */
export async function withClient<T>(
  { pool }: Pick<TestDatabase, 'pool'>,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  try {
    return await work(client);
  } finally {
    client.release(true);
  }
}
