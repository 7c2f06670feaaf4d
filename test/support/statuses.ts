import type { Pool } from 'pg';

/** The statuses of all attempts in the table `tasks`, in the order of their ids. */
export async function statusesIn(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ status: string }>('select status from tasks order by id');
  return rows.map(({ status }) => status);
}

/** How many attempts in the table `tasks` have each status. */
export async function countStatuses(pool: Pool): Promise<Record<string, number>> {
  const { rows } = await pool.query<{ status: string; n: number }>(
    'select status, count(*)::int as n from tasks group by status',
  );
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
}
