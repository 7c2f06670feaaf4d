import type { Client, Pool } from 'pg';
import { until } from './waiting.js';

/** Waits until a session waits for a lock on that table. Relations of other databases may have the same number. */
export function lockIsWaitedFor(handle: Pick<Pool | Client, 'query'>, table: string): Promise<boolean> {
  return until(async () => {
    const { rows } = await handle.query<{ found: boolean }>(
      `select exists (
         select from pg_locks
         where not granted and relation = $1::regclass
           and database = (select oid from pg_database where datname = current_database())
       ) as found`,
      [table],
    );
    return rows[0]?.found;
  }, `a session that waits for ${table}`);
}
