import type { Client, Pool } from 'pg';
import { onPostgres, runsOn } from './run-database.js';
import { untilListed } from './listed-transactions.js';
import { until } from './waiting.js';

/** Waits until a session waits for a lock on that table. Relations of other databases may have the same number. */
export function lockIsWaitedFor(handle: Pick<Pool | Client, 'query'>, table: string): Promise<boolean> {
  const what = `a session that waits for ${table}`;
  if (!onPostgres) return untilListed(() => someoneWaits(handle), what);
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
  }, what);
}

/** MySQL and MariaDB tell to everybody that a session waits, not for which table. */
async function someoneWaits(handle: Pick<Pool | Client, 'query'>): Promise<boolean> {
  const { rows } = await handle.query(runsOn === 'mysql' ? waitingOnMysql : waitingOnMariadb);
  return rows.length > 0;
}

// What MySQL keeps in information_schema about sessions cannot be read while one of them runs a text with an emoji.
const waitingOnMysql = `select 1 from performance_schema.threads t
  left join performance_schema.data_lock_waits w on w.requesting_thread_id = t.thread_id
  where t.processlist_db = database() and (w.requesting_thread_id is not null or t.processlist_state like 'Waiting for table%')`;

const waitingOnMariadb = `select 1 from information_schema.processlist p
  left join information_schema.innodb_trx t on t.trx_mysql_thread_id = p.id
  where p.db = database() and (t.trx_state = 'LOCK WAIT' or p.state like 'Waiting for table%')`;

/** Waits until a session waits for a row that another one has locked. */
export function rowIsWaitedFor(pool: Pool): Promise<boolean> {
  const what = 'the lock of the attempt is waited for';
  if (!onPostgres) return untilListed(() => someoneWaits(pool), what);
  return until(async () => {
    const { rows } = await pool.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rows.length > 0;
  }, what);
}
