import { idList } from '../administration/id-list.js';
import type { QueueTables } from '../identifiers.js';
import { after, msBetween, now } from '../sql-time.js';
import { named } from '../statement.js';

// What ended in the past day, by minutes, for charts. Arrays of JSON are added up by the library: neither server can.

type Reads = Pick<QueueTables, 'history'>;

/** Stands for the queue as a whole where other rows of a minute have a route. */
export const wholeQueue = '';

/** How long attempts waited and ran. Parameters: ids. */
export const measureAttempts = ({ queue }: Pick<QueueTables, 'queue'>): string =>
  named(
    'measure_attempts',
    `
select f.id, ${msBetween('f.data_hora', 'f.iniciada_em')} as wait_ms, ${msBetween('f.iniciada_em', 'f.finalizada_em')} as run_ms
from ${idList} j straight_join ${queue} f force index (primary) on f.id = j.id
where f.iniciada_em is not null and f.finalizada_em is not null`,
  );

/** Where a stretch of some seconds begins, in seconds since 1970. */
const stretchOf = (time: string, seconds: string): string =>
  `(timestampdiff(second, '1970-01-01', ${time}) div ${seconds}) * ${seconds}`;

/** This minute. */
export const thisMinute = named(
  'history_minute',
  `select timestampadd(second, ${stretchOf(now, '60')}, cast('1970-01-01' as datetime)) as at`,
);

/** Rows of a parameter that is JSON. */
const given = `json_table(?, '$[*]' columns (
  at varchar(40) path '$.at', route varchar(1900) character set utf8mb4 path '$.route', succeeded bigint path '$.succeeded',
  failed bigint path '$.failed', buried bigint path '$.buried', delivered bigint path '$.delivered',
  unhandled bigint path '$.unhandled', lag_ms bigint path '$.lag_ms',
  waits longtext character set utf8mb4 path '$.waits', runs longtext character set utf8mb4 path '$.runs'))`;

/** Adds to counts, and locks these rows, in the order of their key. Parameters: rows as JSON. */
export const addCounts = ({ history }: Reads): string =>
  named(
    'add_history',
    `
insert into ${history} (at, route, succeeded, failed, buried, delivered, unhandled, lag_ms, waits, runs)
select g.at, g.route, g.succeeded, g.failed, g.buried, g.delivered, g.unhandled, g.lag_ms, '[]', '[]'
from ${given} g
order by g.at, g.route
on duplicate key update succeeded = ${history}.succeeded + values(succeeded), failed = ${history}.failed + values(failed),
  buried = ${history}.buried + values(buried), delivered = ${history}.delivered + values(delivered),
  unhandled = ${history}.unhandled + values(unhandled),
  lag_ms = greatest(coalesce(${history}.lag_ms, values(lag_ms)), coalesce(values(lag_ms), ${history}.lag_ms))`,
  );

/** Durations of those rows. Parameters: rows as JSON. */
export const readBuckets = ({ history }: Reads): string =>
  named(
    'history_buckets',
    `
select h.at, h.route, h.waits, h.runs
from ${given} g straight_join ${history} h force index (primary) on h.at = cast(g.at as datetime(6)) and h.route = cast(g.route as binary)`,
  );

/** Parameters: rows as JSON. */
export const writeBuckets = ({ history }: Reads): string =>
  named(
    'history_write_buckets',
    `
update ${given} g
straight_join ${history} h force index (primary) on h.at = cast(g.at as datetime(6)) and h.route = cast(g.route as binary)
set h.waits = g.waits, h.runs = g.runs`,
  );

/** Claims this minute's look at the queue for this process, unless another process has it. Parameters: minute. */
export const takeMinute = ({ history }: Reads): string =>
  named(
    'history_turn',
    `insert ignore into ${history} (at, route, waits, runs) values (?, '${wholeQueue}', '[]', '[]')`,
  );

/** Writes down how long the oldest pending task had waited. Parameters: ms, minute. */
export const noteLag = ({ history }: Reads): string =>
  named('history_lag', `update ${history} h set h.lag_ms = ? where h.at = ? and h.route = '${wholeQueue}'`);

/** Minutes that are older than an hour, locked, and the ten minutes that each belongs to. */
export const lockMinutes = ({ history }: Reads): string =>
  named(
    'fold_history',
    `
select h.at, ${stretchOf('h.at', '600')} as stretch, h.route, h.succeeded, h.failed, h.buried, h.delivered, h.unhandled,
  h.lag_ms, h.waits, h.runs
from ${history} h
where h.at < timestampadd(second, ${stretchOf(after('-4200000'), '600')}, '1970-01-01')
  and ${stretchOf('h.at', '600')} <> timestampdiff(second, '1970-01-01', h.at)
for update`,
  );

/** Parameters: rows as JSON. */
export const deleteMinutes = ({ history }: Reads): string =>
  named(
    'fold_history_delete',
    `
delete h from ${given} g
straight_join ${history} h force index (primary) on h.at = cast(g.at as datetime(6)) and h.route = cast(g.route as binary)`,
  );

/** Forgets what is older than a day and some minutes. */
export const forgetHistory = ({ history }: Reads): string =>
  named('forget_history', `delete from ${history} where at < ${after('-90000000')}`);

/** When the last stretch begins. Parameters: seconds of a stretch, twice. */
export const lastStretch = named('history_last', `select ${stretchOf(now, '?')} as last`);

/**
 * Rows of the history, and the stretch of each. Parameters: seconds of a stretch, twice; where the first one begins, in seconds since
 * 1970; then a route, unless all are asked for.
 */
export const readHistory = ({ history }: Reads, ofRoute: boolean): string =>
  named(
    'history_rows',
    `
select ${stretchOf('h.at', '?')} as step, h.route, h.succeeded, h.failed, h.buried, h.delivered, h.unhandled, h.lag_ms, h.waits, h.runs
from ${history} h
where h.at >= timestampadd(second, ?, '1970-01-01') and h.at <= ${now}${ofRoute ? ` and h.route in (?, '${wholeQueue}')` : ''}`,
  );
