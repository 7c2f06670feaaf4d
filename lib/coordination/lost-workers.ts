import { readBoolean } from '../storage/columns.js';
import type { TextRow } from '../storage/postgres/connections/control-connection.js';
import type { Statement } from '../storage/postgres/statement.js';
import type { MissingWorkers } from './coordinator.js';

/** Asks the queue's tables, where that waits for no handler and an answer has a time limit. */
export type AskTables = (statement: Statement, values: readonly unknown[]) => Promise<readonly TextRow[]>;

/** What the names of the locks begin with that the sessions of living workers hold; their ids follow. */
export function livenessPrefix(qualifiedTable: string): string {
  return `tarefa:worker:${qualifiedTable}:`;
}

/** Name of the lock that whoever runs a routine holds. */
export function routineKey(qualifiedTable: string, routine: string): string {
  return `tarefa:routine:${qualifiedTable}:${routine}`;
}

/**
 * Who of the workers that have started and not stopped, and of some others, holds neither lock nor lease. It reads who
 * holds locks and takes none itself. Workers that are told need not look, so that however many there are, one does.
 * Nobody is told when there is nobody else: a notification is a transaction to be written down.
 *
 * Parameters: ids of others, prefix of the locks' names, milliseconds since the server's start before which it is too
 * early to tell, channel on which to tell (or null), the looker's id.
 *
 * @param workers quoted name of the workers' table
 */
export const lostWorkers = (workers: string): Statement => ({
  name: 'tarefa_lost_workers',
  text: `-- name: lost_workers
select
  clock_timestamp() - pg_postmaster_start_time() <= $3::float8 * interval '1 millisecond' as early,
  exists (select from ${workers} w where w.missed_at is not null) as noted,
  array_to_string(array(
    select known.id
    from (select w.id from ${workers} w where w.stopped_at is null union select unnest($1::bigint[])) known
    where not exists (
        select from pg_locks l
        where l.locktype = 'advisory' and l.granted and l.objsubid = 1
          and l.database = (select oid from pg_database where datname = current_database())
          and ((l.classid::bigint << 32) | l.objid::bigint) = hashtextextended($2::text || known.id, 0)
      )
      and not exists (
        select from ${workers} leased where leased.id = known.id and leased.lease_until > clock_timestamp()
      )
  ), ',') as missing,
  (select pg_notify($4::text, $5::text) where $4::text is not null
    and exists (select from ${workers} w where w.stopped_at is null and w.id <> $5::bigint)) as told`,
});

/** Reads its one row: undefined when it is too early to tell. */
export function readLost([row]: readonly TextRow[]): MissingWorkers | undefined {
  if (!row || readBoolean(row['early'])) return undefined;
  return { missing: row['missing']?.split(',').filter(Boolean) ?? [], noted: readBoolean(row['noted']) };
}

/** A worker that was called lost and is back has not stopped. Parameters: worker. */
export const reviveWorker = (workers: string): Statement => ({
  name: 'tarefa_revive_worker',
  text: `-- name: revive_worker
update ${workers} set stopped_at = null, missed_at = null
where id = $1::bigint and (stopped_at is not null or missed_at is not null)`,
});
