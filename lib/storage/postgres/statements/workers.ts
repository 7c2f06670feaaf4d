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
