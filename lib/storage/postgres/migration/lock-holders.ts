import type { SqlHandle } from '../../sql-handle.js';

const fields = `a.pid, coalesce(nullif(a.application_name, ''), 'no name') as name, coalesce(a.state, 'unknown') as state,
  coalesce(extract(epoch from clock_timestamp() - a.xact_start), 0)::float8 as seconds`;

/** Sessions that hold locks on a table, the oldest transactions first: for messages. Empty when no session does. */
export async function describeHolders(sql: SqlHandle, table: string): Promise<string> {
  const { rows } = await sql.query(
    `select ${fields} from pg_stat_activity a
     where a.pid <> pg_backend_pid()
       and a.pid in (select l.pid from pg_locks l where l.granted and l.relation = to_regclass($1::text))
     order by a.xact_start nulls last limit 3`,
    [table],
  );
  return rows.map(describe).join(', ');
}

/** One session: for messages. */
export async function describeSession(sql: SqlHandle, pid: number): Promise<string> {
  const { rows } = await sql.query(`select ${fields} from pg_stat_activity a where a.pid = $1::int`, [pid]);
  return rows[0] ? describe(rows[0]) : `session ${pid}`;
}

function describe(row: Record<string, unknown>): string {
  return `session ${Number(row['pid'])} (${String(row['name'])}, ${String(row['state'])}, its transaction ${Number(row['seconds']).toFixed(0)} s old)`;
}
