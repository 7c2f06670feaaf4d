import type { Pool } from 'pg';

/**
 * Ends the server's side of the library's connections to a database whose name ends like that; returns how many.
 */
export async function cutConnections(pool: Pool, purpose = ''): Promise<number> {
  const { rows } = await pool.query<{ cut: number }>(
    `select count(*) filter (where pg_terminate_backend(pid))::int as cut
     from pg_stat_activity
     where datname = current_database() and application_name like 'tarefa%' || $1::text`,
    [purpose],
  );
  return rows[0]?.cut ?? 0;
}
