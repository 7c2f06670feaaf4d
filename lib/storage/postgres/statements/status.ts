import { isChainTreated } from '../../buried.js';
import { isBuried, stateSql } from '../../columns.js';
import { listLimit, placeLimit } from '../../read-status.js';
import { buriedLimit, countLimit, endedLimit, newestLimit } from '../../reports.js';
import { routeExpression } from '../statement.js';
import type { QueueTables } from '../identifiers.js';
import { msBetween } from '../time-spans.js';
import { deadTaskOf } from './fail.js';
import { isLeased } from './workers.js';

// The state of a queue. Each statement costs about the same for any size of the table: it walks an index and stops at a
// limit. Their transaction also has a time limit, and forbids plans made for a table that has grown since.

type Queue = Pick<QueueTables, 'queue'>;

const placeOf = (row: string): string =>
  `${routeExpression(row)}, ${row}prioridade, ${row}id, coalesce(${row}id_inicial, ${row}id), ${row}data_hora, ${row}processo, ${row}subscriber_id, ${row}dead`;

/** The order of the index that claims walk. */
const placeOrder = `${routeExpression('f.')}, f.prioridade desc, f.data_hora, f.id`;

/** Settings of that transaction; PostgreSQL takes no parameter for them. */
export const statusSettings = (timeoutMs: number): string => `set transaction read only;
set local statement_timeout = ${Math.round(timeoutMs)};
set local lock_timeout = ${Math.round(timeoutMs)};
set local jit = off`;

/** For statements that walk one index: like claims, they would keep plans made on an empty table. */
export const walkSettings = `set local enable_seqscan = off;
set local enable_bitmapscan = off;
set local enable_sort = off`;

/** For the others again. */
export const otherSettings = `set local enable_seqscan = on;
set local enable_bitmapscan = on;
set local enable_sort = on`;

/** The database's clock, whether other roles' sessions can be seen, and how full the queue of notifications is. */
export const statusBasics = `-- name: status_basics
select clock_timestamp() as at, current_setting('server_version') as server_version,
  pg_has_role(current_user, 'pg_read_all_stats', 'usage') as sees_all_sessions,
  pg_notification_queue_usage() as notify_usage`;

/**
 * The pending attempt that is due for longest of each route and priority. It skips through the index from one to the next,
 * where the first entry is the oldest. An attempt whose priority is null is not met; the triggers leave none.
 */
export const pendingPlaces = ({ queue }: Queue): string => `-- name: status_pending_places
with recursive places (n, route, priority, id, first_id, due, processo, subscriber_id, dead) as (
  (select 1, ${placeOf('f.')} from ${queue} f
   where f.status = 'pendente' order by ${placeOrder} limit 1)
  union all
  select places.n + 1, next.*
  from places
  cross join lateral (
    select * from (
      (select ${placeOf('f.')} from ${queue} f
       where f.status = 'pendente' and ${routeExpression('f.')} = places.route
         and f.prioridade < coalesce(places.priority::bigint, 2147483648)
       order by ${placeOrder} limit 1)
      union all
      (select ${placeOf('f.')} from ${queue} f
       where f.status = 'pendente' and ${routeExpression('f.')} > places.route
       order by ${placeOrder} limit 1)
    ) following
    limit 1
  ) next
  where places.n < ${placeLimit}
)
select route, priority, id::text as id, first_id::text as first_id, due, processo, subscriber_id, dead,
  ${msBetween('due', 'clock_timestamp()')} as waiting_ms
from places
where priority is not null`;

/**
 * How many are pending at each place, by topic and subscription; counts the oldest rows of a place up to a limit.
 * Parameters: an id at each place, which names its route even where that cannot be sent, and the limit.
 */
export const pendingCounts = ({ queue }: Queue): string => `-- name: status_pending_counts
select counted.*
from (
  select ${routeExpression('f.')} as route, f.prioridade as priority from ${queue} f where f.id = any($1::text[]::bigint[])
) place
cross join lateral (
  select one.processo, one.subscriber_id, one.dead, count(*)::int as n, min(one.data_hora) as due,
    sum(count(*)) over () >= $2::int as is_capped
  from (
    select f.processo, f.subscriber_id, f.dead, f.data_hora from ${queue} f
    where f.status = 'pendente' and ${routeExpression('f.')} = place.route and f.prioridade = place.priority
    order by ${placeOrder}
    limit $2::int
  ) one
  group by 1, 2, 3
) counted`;

/** Scheduled attempts by topic and subscription, first attempts apart from retries: the first due ones, up to a limit. */
export const scheduledCounts = ({ queue }: Queue): string => `-- name: status_scheduled
select one.processo, one.subscriber_id, one.dead, one.state, count(*)::int as n, min(one.data_hora) as due
from (
  select f.processo, f.subscriber_id, f.dead, f.data_hora, ${stateSql('f')} as state from ${queue} f
  where f.status = 'agendada'
  order by f.data_hora, f.id
  limit ${countLimit}
) one
group by 1, 2, 3, 4`;

/**
 * The scheduled attempts that are due next; their times are past while no worker makes them pending. What is due at `infinity` never
 * is.
 */
export const nextScheduled = ({ queue }: Queue, limit = 1): string => `-- name: status_next_scheduled
select f.id::text as id, coalesce(f.id_inicial, f.id)::text as first_id, f.processo, f.subscriber_id, f.dead, f.data_hora as due,
  ${msBetween('clock_timestamp()', 'f.data_hora')} as in_ms
from ${queue} f
where f.status = 'agendada' and f.data_hora < 'infinity'
order by f.data_hora, f.id
limit ${limit}`;

/** Running attempts, and which worker holds them. Those of other programs have no executor. */
export const runningAttempts = ({
  queue,
  workers,
}: Pick<QueueTables, 'queue' | 'workers'>): string => `-- name: status_running
select running.*, w.host, w.pid, ${msBetween('running.started', 'clock_timestamp()')} as running_ms
from (
  select f.id::text as id, coalesce(f.id_inicial, f.id)::text as first_id, f.processo, f.subscriber_id, f.dead, f.tentativa,
    f.executor, coalesce(f.iniciada_em, f.data_hora) as started
  from ${queue} f
  where f.status = 'processando'
  limit ${countLimit}
) running
left join ${workers} w on w.id = running.executor
order by running.started, running.id::bigint`;

/**
 * Attempts that have ended and were due since a time. Parameters: since.
 *
 * Walks the table's blocks of that time, and stops at a limit of rows.
 */
export const endedCounts = ({ queue }: Queue): string => `-- name: status_ended
select one.processo, one.subscriber_id, one.dead, one.state, count(*)::int as n
from (
  select f.processo, f.subscriber_id, f.dead, ${stateSql('f')} as state
  from ${queue} f
  where f.data_hora >= $1::text::timestamptz and f.status in ('sucesso', 'falha', 'falha_processando')
    and f.reenfileirado is not true
  limit ${endedLimit}
) one
group by 1, 2, 3, 4`;

/**
 * The latest dead tasks: how many there are, how many of the tasks that they are of have given up and stand so, and how many of
 * these a dead handler has dealt with. And how many of the newest attempts are of tasks that gave up and have no dead task.
 */
export const buriedCounts = ({ queue }: Queue): string => `-- name: status_buried
select count(*)::int as n, count(*) filter (where one.buried)::int as buried,
  count(*) filter (where one.buried and one.treated)::int as treated,
  (
    select count(*)::int from ${queue} f
    where f.id > (select max(m.id) - ${newestLimit} from ${queue} m) and ${isBuried('f')} and ${deadTaskOf(queue, 'f')} is null
  ) as alone
from (
  select ${isChainTreated('d', queue)} as treated,
    (select f.id from ${queue} f where f.id = d.live_id and f.rodada = d.rodada and ${isBuried('f')}) is not null
    or (
      select f.id from ${queue} f where f.id_inicial = d.live_id and f.rodada = d.rodada and ${isBuried('f')} limit 1
    ) is not null as buried
  from (
    select d.id, d.live_id, d.rodada, d.status, d.mensagem from ${queue} d
    where d.dead and d.id_anterior is null and d.live_id is not null
    order by d.live_id desc, d.rodada desc
    limit ${buriedLimit}
  ) d
  offset 0
) one`;

/**
 * Workers that have not stopped, and what says that each lives: a lock of its session, a lease, or nothing. Parameters:
 * what the names of the locks begin with.
 */
export const livingWorkers = ({ workers }: Pick<QueueTables, 'workers'>): string => `-- name: status_workers
select w.id::text as id, w.host, w.pid, w.version, w.concurrency, w.routes, w.started_at, w.missed_at, w.parent, w.output,
  exists (
    select from pg_locks l
    where l.locktype = 'advisory' and l.granted and l.objsubid = 1
      and l.database = (select oid from pg_database where datname = current_database())
      and ((l.classid::bigint << 32) | l.objid::bigint) = hashtextextended($1::text || w.id, 0)
  ) as has_lock,
  coalesce(${isLeased('w')}, false) as has_lease
from ${workers} w
where w.stopped_at is null
order by w.id
limit ${listLimit}`;

/**
 * Subscriptions without a URL that are not among the routes that workers serve; active ones first. Parameters: these
 * routes.
 */
export const unheardSubscriptions = ({
  subscriptions,
}: Pick<QueueTables, 'subscriptions'>): string => `-- name: status_subscriptions
select s.id, s.processo, s.ativo
from ${subscriptions ?? 'none'} s
where s.url is null and 's:' || s.id <> all($1::text[])
order by s.ativo desc, s.id
limit ${listLimit}`;

/** Topics and subscriptions of rows, and when the oldest was due. Parameters: ids. */
export const describeRows = ({ queue }: Queue): string => `-- name: describe_rows
select f.processo, f.subscriber_id, count(*)::int as n, min(f.data_hora) as oldest
from ${queue} f
where f.id = any($1::text[]::bigint[])
group by 1, 2`;

/** Bytes, and rows as the statistics have them; of all partitions where there are some. Parameters: quoted table. */
export const tableSize = `-- name: status_table
with parts as (
  select relid::oid as oid from pg_partition_tree($1::text::regclass) union select $1::text::regclass::oid
)
select sum(pg_table_size(parts.oid))::text as table_bytes, sum(pg_indexes_size(parts.oid))::text as index_bytes,
  sum(s.n_live_tup)::text as live_rows, sum(s.n_dead_tup)::text as dead_rows, count(*)::int - 1 as partitions,
  max(greatest(s.last_vacuum, s.last_autovacuum)) as vacuumed_at,
  max(greatest(s.last_analyze, s.last_autoanalyze)) as analyzed_at
from parts
left join pg_stat_all_tables s on s.relid = parts.oid`;

/** Bytes of each index; of a partitioned one, with its parts. Parameters: quoted table. */
export const indexSizes = `-- name: status_indexes
select c.relname::text as name, i.indisvalid as valid, (
    pg_table_size(c.oid)
    + coalesce((select sum(pg_table_size(t.relid)) from pg_partition_tree(c.oid) t where t.relid <> c.oid), 0)
  )::text as bytes
from pg_index i
join pg_class c on c.oid = i.indexrelid
where i.indrelid = $1::text::regclass
order by pg_table_size(c.oid) desc, 1`;

/**
 * Who holds the oldest snapshot that keeps dead rows of this database from being removed: a session, a replication slot or
 * a prepared transaction. Vacuum's own snapshots keep nothing back. No query text: it may hold values of the user's.
 */
export const oldestSnapshot = `-- name: status_oldest_snapshot
select kind, pid, name, application_name, user_name, state, since, transactions,
  extract(epoch from clock_timestamp() - since) * 1000 as since_ms
from (
  select 'session' as kind, a.pid, null::text as name, a.application_name, a.usename::text as user_name,
    coalesce(a.state, a.backend_type) as state, coalesce(a.xact_start, a.backend_start) as since,
    greatest(age(a.backend_xmin), age(a.backend_xid)) as transactions
  from pg_stat_activity a
  where a.pid <> pg_backend_pid()
    and (a.datname = current_database() or a.backend_type = 'walsender')
    and a.backend_type <> 'autovacuum worker'
    and not exists (select from pg_stat_progress_vacuum v where v.pid = a.pid)
  union all
  select 'replication slot', s.active_pid, s.slot_name::text, null, null, case when s.active then 'active' else 'inactive' end,
    null, age(s.xmin)
  from pg_replication_slots s
  union all
  select 'prepared transaction', null, p.gid, null, p.owner::text, 'prepared', p.prepared, age(p.transaction)
  from pg_prepared_xacts p
  where p.database = current_database()
) holders
where transactions is not null
order by transactions desc, since
limit 1`;
