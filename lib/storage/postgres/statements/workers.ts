import type { QueueTables } from '../identifiers.js';
import { statement } from '../statement.js';

/** Writes down a starting worker. Parameters: host, pid, version, concurrency, routes, routes of dead attempts. */
export const registerWorker = statement(
  'register_worker',
  ({ workers }) => `
insert into ${workers} (host, pid, version, concurrency, routes, dead_routes)
values ($1::text, $2::int, $3::text, $4::int, $5::text[], $6::text[])
returning id`,
);

/**
 * Writes down that a worker has stopped, unless it still holds attempts: recovery looks at those that have not. A lost
 * one that is missed no longer is back. Parameters: worker, whether it was lost.
 */
export const retireWorker = statement(
  'retire_worker',
  ({ queue, workers }) => `
update ${workers} w
set stopped_at = clock_timestamp()
where w.id = $1::bigint and w.stopped_at is null and (w.missed_at is not null or not $2::boolean)
  and not exists (select from ${queue} f where f.status = 'processando' and f.executor = $1::bigint)`,
);

/** Whether a worker was told to stop. Parameters: worker. */
export const isHalted = statement(
  'is_halted',
  ({ workers }) =>
    `select exists (select from ${workers} w where w.id = $1::bigint and w.halt_at is not null) as halted`,
);

/**
 * Tells all workers that run now to stop, in their rows: who may only connect cannot write there. They hear of it by the
 * notification, or see it at their next poll. Parameters: channel, what is said there.
 */
export const haltWorkers = ({ workers }: Pick<QueueTables, 'workers'>): string => `-- name: halt_workers
with told as (
  update ${workers} w set halt_at = clock_timestamp() where w.stopped_at is null returning w.id
)
select coalesce(array_agg(told.id::text order by told.id), '{}') as told, pg_notify($1::text, $2::text) as rung from told`;

/** Forgets workers that stopped longer ago than so many days. Parameters: days. */
export const forgetWorkers = statement(
  'forget_workers',
  ({ workers }) => `delete from ${workers} where stopped_at < now() - $1::float8 * interval '1 day'`,
);

/**
 * Writes down since when workers are missing, and forgets it of those that are not; answers those that were missing
 * long enough when they were last looked for. It stands in the table because whoever looks may be lost as well. An
 * executor without a row never was a worker, or is long forgotten.
 *
 * Parameters: workers that are missing now, milliseconds that are long enough.
 */
export const confirmLost = statement(
  'confirm_lost',
  ({ workers }) => `
with noted as (
  update ${workers} w
  set missed_at = case when w.id = any($1::bigint[]) then clock_timestamp() end
  where (w.missed_at is null) = (w.id = any($1::bigint[]))
)
select missing.id
from unnest($1::bigint[]) missing (id)
left join ${workers} w on w.id = missing.id
where w.id is null or w.missed_at <= clock_timestamp() - $2::float8 * interval '1 millisecond'`,
);
