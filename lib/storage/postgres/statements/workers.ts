import type { QueueTables } from '../identifiers.js';
import { insertSealSql } from '../schema/schema-objects.js';
import { isQuiet, ringing, routeExpression, statement } from '../statement.js';
import { longestLeaseMs } from '../../workers.js';

const description = `host, pid, version, concurrency, routes, dead_routes, schedules, parent, output`;
const described = `$1::text, $2::int, $3::text, $4::int, $5::text[], $6::text[], $7::text[], $8::bigint, $9::text`;

/**
 * Writes down a starting worker; returns its id, and whether attempts are held by it: then it was another's, whose row was
 * deleted and whose sequence started over. Nothing is answered where the id is taken.
 * Parameters: host, pid, version, concurrency, routes, routes of dead attempts, schedules, parent, output.
 */
export const registerWorker = statement(
  'register_worker',
  ({ queue, workers }) => `
insert into ${workers} as w (${description})
values (${described})
on conflict (id) do nothing
returning w.id, exists (select from ${queue} f where f.status = 'processando' and f.executor = w.id) as holding`,
);

/** Registers a worker with the id after the highest one, where the sequence is behind. */
export const registerBehind = statement(
  'register_worker_behind',
  ({ queue, workers }) => `
insert into ${workers} as w (id, ${description}) overriding system value
select coalesce(max(last.id), 0) + 1, ${described} from ${workers} last
on conflict (id) do nothing
returning w.id, exists (select from ${queue} f where f.status = 'processando' and f.executor = w.id) as holding`,
);

/** Writes a running worker down again. Parameters: as {@link registerWorker}, id. */
export const restoreWorker = statement(
  'restore_worker',
  ({ workers }) => `
insert into ${workers} (${description}, id) overriding system value
values (${described}, $10::bigint)
on conflict (id) do nothing`,
);

/** Makes the key again that deliveries are sealed with, if it is gone. */
export const restoreSeal = statement('restore_seal', insertSealSql);

/** Parameters: worker. */
export const withdrawWorker = statement(
  'withdraw_worker',
  ({ workers }) => `delete from ${workers} w where w.id = $1::bigint`,
);

/**
 * Writes down that a worker has stopped, unless it still holds attempts: recovery looks only at workers that have not
 * stopped. A lost worker that is not missed any more is back, and stays. Parameters: worker, whether it was lost.
 */
export const retireWorker = statement(
  'retire_worker',
  ({ queue, workers }) => `
update ${workers} w
set stopped_at = clock_timestamp()
where w.id = $1::bigint and w.stopped_at is null and (w.missed_at is not null or not $2::boolean)
  and not exists (select from ${queue} f where f.status = 'processando' and f.executor = $1::bigint)`,
);

/** Whether a worker was told to stop; no row when it is not written down. Parameters: worker. */
export const isHalted = statement(
  'is_halted',
  ({ workers }) => `select w.halt_at is not null as halted from ${workers} w where w.id = $1::bigint`,
);

/**
 * Tells all running workers to stop by their rows, which a role that may only connect cannot write. They hear of it by the
 * notification, or see it at their next poll. Parameters: channel, text of the notification.
 */
export const haltWorkers = ({ workers }: Pick<QueueTables, 'workers'>): string => `-- name: halt_workers
with told as (
  update ${workers} w set halt_at = clock_timestamp() where w.stopped_at is null returning w.id
)
select coalesce(array_agg(told.id::text order by told.id), '{}') as told, ${ringing('$1::text', '$2::text')} as notified from told`;

/** Deletes workers that stopped more than `$1` days ago. */
export const forgetWorkers = statement(
  'forget_workers',
  ({ workers }) => `delete from ${workers} where stopped_at < now() - $1::float8 * interval '1 day'`,
);

/** True for a worker whose lease runs: it ends in the future, though no later than one that is renewed now. */
export const isLeased = (row: string): string =>
  `(${row}.lease_until > clock_timestamp() and ${row}.lease_until <= clock_timestamp() + ${longestLeaseMs} * interval '1 millisecond')`;

/**
 * Writes down since when workers are missing, and clears it for those that are back; returns those that an earlier look has
 * missed long enough ago. The time is kept in the table because the worker that looks may be lost as well; one from the future
 * is written again, because the server's clock was set back since. An executor without a row never was a worker, or its row
 * was deleted long ago.
 *
 * Parameters: workers that are missing now, milliseconds that are long enough.
 */
export const confirmLost = statement(
  'confirm_lost',
  ({ workers }) => `
with noted as (
  update ${workers} w
  set missed_at = case when w.id = any($1::bigint[]) then clock_timestamp() end
  where (w.missed_at is null) = (w.id = any($1::bigint[])) or w.missed_at > clock_timestamp()
)
select missing.id
from unnest($1::bigint[]) missing (id)
left join ${workers} w on w.id = missing.id
where w.id is null or w.missed_at <= clock_timestamp() - $2::float8 * interval '1 millisecond'`,
);

/**
 * Which of the workers that have started and not stopped, and of some others, hold neither lock nor lease. It reads the
 * locks and takes none itself. It asks for a row to write, and finds none: so a server that only reads, as a former primary does,
 * refuses it. A server that started in the future had its clock set back since, which says nothing of how
 * long it has run. Parameters: ids of others, prefix of the locks' names, milliseconds since the server's start before which
 * it is too early to tell, the looker's id, channel and text of a notification (or nulls), which is sent only where other
 * workers run: it is a transaction to be written down.
 */
export const findMissing = statement(
  'lost_workers',
  ({ workers }) => `
select
  (select true from ${workers} w where false for key share) as writes,
  clock_timestamp() - pg_postmaster_start_time() between interval '0' and $3::float8 * interval '1 millisecond' as early,
  extract(epoch from clock_timestamp())::float8 * 1000 as at_ms,
  pg_notification_queue_usage() as notify_usage,
  exists (select from ${workers} w where w.missed_at is not null) as noted,
  exists (select from ${workers} w where w.stopped_at is null and w.id <> $4::bigint) as others,
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
        select from ${workers} leased where leased.id = known.id and ${isLeased('leased')}
      )
  ), ',') as missing,
  (select pg_notify($5::text, $6::text) where $5::text is not null and not (${isQuiet})
    and exists (select from ${workers} w where w.stopped_at is null and w.id <> $4::bigint)) as told`,
);

/** The detached workers of a host that run an attempt. Parameters: host. */
export const detachedOn = statement(
  'detached_on',
  ({ queue, workers }) => `
select ${routeExpression('f.')} as route, parent.pid as parent_pid
from ${workers} w
join ${queue} f on f.status = 'processando' and f.executor = w.id
left join ${workers} parent on parent.id = w.parent and parent.stopped_at is null
where w.stopped_at is null and w.parent is not null and w.host = $1::text`,
);

/** Whether what a worker runs was cancelled. Parameters: worker. */
export const isCancelled = ({ queue }: Pick<QueueTables, 'queue'>): string => `-- name: is_cancelled
select exists (
  select from ${queue} f where f.status = 'processando' and f.executor = $1::bigint and f.cancelada_por is not null
) as cancelled`;

/** A worker that was called lost and is back has not stopped. Parameters: worker. */
export const reviveWorker = statement(
  'revive_worker',
  ({ workers }) => `
update ${workers} set stopped_at = null, missed_at = null
where id = $1::bigint and (stopped_at is not null or missed_at is not null)`,
);

/**
 * Renews a worker's lease. A worker that was called lost meanwhile comes back under its id; by the fence it does not hold
 * its former attempts. Parameters: worker, milliseconds.
 */
export const renewLease = ({ workers }: Pick<QueueTables, 'workers'>): string => `-- name: renew_lease
update ${workers}
set lease_until = clock_timestamp() + $2::float8 * interval '1 millisecond', stopped_at = null
where id = $1::bigint`;
