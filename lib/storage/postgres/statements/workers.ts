import { statement } from '../statement.js';

/** Writes down a starting worker. Parameters: host, pid, version, concurrency, routes. */
export const registerWorker = statement(
  'register_worker',
  ({ workers }) => `
insert into ${workers} (host, pid, version, concurrency, routes)
values ($1::text, $2::int, $3::text, $4::int, $5::text[])
returning id`,
);

/** Writes down that a worker has stopped. Parameters: worker. */
export const retireWorker = statement(
  'retire_worker',
  ({ workers }) =>
    `update ${workers} set stopped_at = clock_timestamp() where id = $1::bigint and stopped_at is null`,
);

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
