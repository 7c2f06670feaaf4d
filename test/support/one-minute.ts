import type { Pool } from 'pg';

/** Does it again when a minute of the database's clock began meanwhile: what it looks at is counted by minutes. */
export async function withinOneMinute<T>(pool: Pool, work: () => Promise<T>): Promise<T> {
  for (;;) {
    const before = await currentMinute(pool);
    const result = await work();
    if ((await currentMinute(pool)) === before) return result;
  }
}

async function currentMinute(pool: Pool): Promise<string | undefined> {
  const { rows } = await pool.query<{ at: string }>(
    `select date_trunc('minute', clock_timestamp())::text as at`,
  );
  return rows[0]?.at;
}
