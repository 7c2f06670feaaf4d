import type { TestDatabase } from './database.js';
import { until } from './waiting.js';

/** What the library's connections to a database are called, sorted; one entry for each connection. */
export async function connectionNames({ pool }: Pick<TestDatabase, 'pool'>): Promise<readonly string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select application_name as name from pg_stat_activity
     where datname = current_database() and application_name like 'tarefa%' order by 1`,
  );
  return rows.map(({ name }) => name);
}

/** Waits until the server has seen the last of the library's connections close. */
export async function allClosed(database: Pick<TestDatabase, 'pool'>): Promise<boolean> {
  return until(async () => (await connectionNames(database)).length === 0, 'all connections closed');
}
