import type { Pool } from 'pg';
import { onPostgres } from './run-database.js';

/** Does it again when a minute of the database's clock began meanwhile: what it looks at is counted by minutes. */
export async function withinOneMinute<T>(pool: Pool, work: () => Promise<T>): Promise<T> {
  for (;;) {
    const before = await currentMinute(pool);
    const result = await work();
    if ((await currentMinute(pool)) === before) return result;
  }
}

async function currentMinute(pool: Pool): Promise<string | undefined> {
  const minute = onPostgres
    ? `date_trunc('minute', clock_timestamp())::text`
    : `date_format(clock_timestamp(), '%Y-%m-%d %H:%i')`;
  const { rows } = await pool.query<{ at: string }>(`select ${minute} as at`);
  return rows[0]?.at;
}
