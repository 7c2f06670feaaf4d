import type { Pool } from 'pg';
import type { StatusReport } from '../../lib/storage/status-report.js';

/** The statuses of all attempts in the table `tasks`, in the order of their ids; `where` leaves some out. */
export async function statusesIn(pool: Pool, where = 'true'): Promise<readonly string[]> {
  const { rows } = await pool.query<{ status: string }>(
    `select status from tasks where ${where} order by id`,
  );
  return rows.map(({ status }) => status);
}

/** How many attempts in the table `tasks` have each status; `where` leaves some out. */
export async function countStatuses(pool: Pool, where = 'true'): Promise<Record<string, number>> {
  const { rows } = await pool.query<{ status: string; n: number }>(
    `select status, count(*)::int as n from tasks where ${where} group by status`,
  );
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
}

/** How many attempts are in the table `tasks`. */
export async function countTasks(pool: Pool): Promise<number> {
  return (await pool.query('select from tasks')).rowCount ?? 0;
}

/** What a report has counted: topic, subscription, whether it is dead, status, and how many. */
export function countsOf({ counts }: StatusReport): unknown[] {
  return counts.map(({ topic, subscriptionId, dead, status, count }) => [
    topic,
    subscriptionId,
    dead,
    status,
    count,
  ]);
}
