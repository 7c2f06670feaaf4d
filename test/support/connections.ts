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

/** Waits until the library has exactly these connections to a database, sorted by name. */
export async function connectionsAre(
  database: Pick<TestDatabase, 'pool'>,
  names: readonly string[],
): Promise<boolean> {
  let found: readonly string[] = [];
  const same = until(async () => {
    found = await connectionNames(database);
    return found.join() === names.join();
  }, `the connections ${names.join()}`);
  return same.catch((error: unknown) => {
    throw new Error(`found ${found.join()}`, { cause: error });
  });
}

/** Waits until the server has seen the last of the library's connections close. */
export function allClosed(database: Pick<TestDatabase, 'pool'>): Promise<boolean> {
  return connectionsAre(database, []);
}
