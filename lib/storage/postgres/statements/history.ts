import type { QueueTables } from '../identifiers.js';
import { msBetween } from '../time-spans.js';

// What ended in the past day, by minutes, for charts.

type Reads = Pick<QueueTables, 'history'>;

/** Stands for the queue as a whole where other rows of a minute have a route. */
export const wholeQueue = '';

/** How long attempts waited and ran. Parameters: ids. */
export const measureAttempts = ({ queue }: Pick<QueueTables, 'queue'>): string => `-- name: measure_attempts
select f.id::text as id,
  ${msBetween('f.data_hora', 'f.iniciada_em')} as wait_ms,
  ${msBetween('f.iniciada_em', 'f.finalizada_em')} as run_ms
from ${queue} f
where f.id = any($1::text[]::bigint[]) and f.iniciada_em is not null and f.finalizada_em is not null`;

const summed = (column: string): string => `array(
    select coalesce(one, 0) + coalesce(other, 0)
    from unnest(h.${column}, excluded.${column}) with ordinality both_of (one, other, place) order by place)`;

/** What there is and what is added. */
const added = `succeeded = h.succeeded + excluded.succeeded, failed = h.failed + excluded.failed,
  buried = h.buried + excluded.buried, delivered = h.delivered + excluded.delivered,
  unhandled = h.unhandled + excluded.unhandled,
  waits = ${summed('waits')},
  runs = ${summed('runs')}`;

/** How many durations fell into each bucket of a row, numbered from 1. */
const bucketsOf = (row: string): string => `
  select 'wait' as kind, w.place, w.n from unnest(${row}.waits) with ordinality w (n, place)
  union all
  select 'run', r.place, r.n from unnest(${row}.runs) with ordinality r (n, place)
`;

/**
 * Adds to the counts of this minute. Parameters: routes as JSON: `[{ route, succeeded, failed, buried, delivered, unhandled,
 * waits, runs }]`.
 */
export const addHistory = ({ history }: Reads): string => `-- name: add_history
insert into ${history} as h (at, route, succeeded, failed, buried, delivered, unhandled, waits, runs)
select date_trunc('minute', clock_timestamp()), one.*
from json_to_recordset($1::text::json) one (route text, succeeded bigint, failed bigint, buried bigint, delivered bigint,
  unhandled bigint, waits real[], runs real[])
order by one.route
on conflict (at, route) do update
set ${added}`;

/** Claims this minute's look at the queue for this process; returns nothing when another process has it. */
export const takeMinute = ({ history }: Reads): string => `-- name: history_turn
insert into ${history} (at, route)
select minute, '${wholeQueue}'
from (select date_trunc('minute', clock_timestamp()) as minute) now
where not exists (select from ${history} h where h.at = minute and h.route = '${wholeQueue}')
on conflict (at, route) do nothing
returning at::text as at`;

/** Writes down how long the oldest pending task had waited. Parameters: minute, ms. */
export const noteLag = ({ history }: Reads): string => `-- name: history_lag
update ${history} set lag_ms = $2::float8::bigint where at = $1::text::timestamptz and route = '${wholeQueue}'`;

/** The beginning of ten minutes. */
const tenMinutes = (time: string): string => `to_timestamp(floor(extract(epoch from ${time}) / 600) * 600)`;

/** Merges minutes that are older than an hour, ten into one, because single minutes are of no use by then. */
export const foldHistory = ({ history }: Reads): string => `-- name: fold_history
with gone as (
  delete from ${history} h
  where h.at < ${tenMinutes(`clock_timestamp() - interval '70 minutes'`)} and h.at <> ${tenMinutes('h.at')}
  returning ${tenMinutes('h.at')} as stretch, h.*
),
durations as (
  select d.stretch, d.route, array_agg(d.n order by d.place) filter (where d.kind = 'wait') as waits,
    array_agg(d.n order by d.place) filter (where d.kind = 'run') as runs
  from (
    select g.stretch, g.route, b.kind, b.place, sum(b.n)::real as n from gone g cross join lateral (${bucketsOf('g')}) b
    group by 1, 2, 3, 4
  ) d
  group by 1, 2
)
insert into ${history} as h (at, route, succeeded, failed, buried, delivered, unhandled, lag_ms, waits, runs)
select g.stretch, g.route, sum(g.succeeded), sum(g.failed), sum(g.buried), sum(g.delivered), sum(g.unhandled), max(g.lag_ms),
  coalesce(d.waits, '{}'), coalesce(d.runs, '{}')
from gone g
left join durations d on d.stretch = g.stretch and d.route = g.route
group by g.stretch, g.route, d.waits, d.runs
on conflict (at, route) do update
set ${added}, lag_ms = greatest(h.lag_ms, excluded.lag_ms)`;

/** Forgets what is older than a day and some minutes. */
export const forgetHistory = ({ history }: Reads): string => `-- name: forget_history
delete from ${history} where at < clock_timestamp() - interval '25 hours'`;

/** Selects rows of the history, without those that a clock which was ahead has left. Parameters: seconds of a stretch, stretches, route (null: all). */
const chosen = (history: string): string => `bounds as (
  select to_timestamp(floor(extract(epoch from clock_timestamp()) / $1::int) * $1::int) as last
),
chosen as (
  select to_timestamp(floor(extract(epoch from h.at) / $1::int) * $1::int) as step, h.*
  from bounds, ${history} h
  where h.at >= bounds.last - ($1::int * ($2::int - 1)) * interval '1 second'
    and h.at <= clock_timestamp()
    and ($3::text is null or h.route in ($3::text, '${wholeQueue}'))
)`;

/** The beginning of the last stretch, and counts by stretch and route. */
export const readCounts = ({ history }: Reads): string => `-- name: history_counts
with ${chosen(history)}
select extract(epoch from bounds.last)::float8 as last, extract(epoch from c.step)::float8 as step, c.route,
  sum(c.succeeded)::text as succeeded, sum(c.failed)::text as failed, sum(c.buried)::text as buried,
  sum(c.delivered)::text as delivered, sum(c.unhandled)::text as unhandled, max(c.lag_ms)::text as lag_ms
from bounds left join chosen c on true
group by 1, 2, 3`;

/** Durations by stretch, and by route: how many fell into each bucket, numbered from 1. */
export const readDurations = ({ history }: Reads): string => `-- name: history_durations
with ${chosen(history)}
select extract(epoch from c.step)::float8 as step, c.route, b.kind, b.place::int as place, sum(b.n)::float8 as n
from chosen c
cross join lateral (${bucketsOf('c')}) b
where b.n > 0
group by grouping sets ((c.step, b.kind, b.place), (c.route, b.kind, b.place))`;
