/** Name of the lock that a worker's session holds as long as the worker lives. */
export function livenessKey(qualifiedTable: string, workerId: string): string {
  return `tarefa:worker:${qualifiedTable}:${workerId}`;
}

/** Name of the lock that whoever runs a routine holds. */
export function routineKey(qualifiedTable: string, routine: string): string {
  return `tarefa:routine:${qualifiedTable}:${routine}`;
}

/**
 * Those of some workers that hold neither their lock nor a lease. It reads who holds locks and takes none itself.
 *
 * Parameters: ids, names of their locks, milliseconds since the server's start before which it is too early to tell.
 *
 * @param workers quoted name of the workers' table
 */
export const lostWorkers = (workers: string): string => `-- name: lost_workers
select
  clock_timestamp() - pg_postmaster_start_time() <= $3::float8 * interval '1 millisecond' as early,
  array(
    select w.id
    from unnest($1::text[], $2::text[]) w (id, key)
    where not exists (
        select from pg_locks l
        where l.locktype = 'advisory' and l.granted and l.objsubid = 1
          and l.database = (select oid from pg_database where datname = current_database())
          and ((l.classid::bigint << 32) | l.objid::bigint) = hashtextextended(w.key, 0)
      )
      and not exists (
        select from ${workers} leased where leased.id = w.id::bigint and leased.lease_until > clock_timestamp()
      )
  ) as lost`;

/** Reads its one row: undefined when it is too early to tell. */
export function readLost([row]: readonly Readonly<Record<string, unknown>>[]): readonly string[] | undefined {
  return row?.['early'] === false ? (row['lost'] as readonly string[]) : undefined;
}
