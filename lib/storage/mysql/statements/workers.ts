import type { QueueTables } from '../identifiers.js';
import { longestLeaseMs } from '../../workers.js';
import { after, epochMs, now } from '../sql-time.js';
import { named, routeExpression } from '../statement.js';

type Workers = Pick<QueueTables, 'workers'>;

/** A parameter that is a JSON array of ids, as rows. */
const ids = `json_table(?, '$[*]' columns (id bigint path '$'))`;

/**
 * Writes down a starting worker. Parameters: host, pid, version, concurrency, routes, routes of dead attempts, schedules, parent, output.
 */
export const registerWorker = ({ workers }: Workers): string =>
  named(
    'register_worker',
    `
insert into ${workers} (host, pid, version, concurrency, routes, dead_routes, schedules, parent, output)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );

/** Writes a running worker down again. Parameters: as {@link registerWorker}, id. */
export const restoreWorker = ({ workers }: Workers): string =>
  named(
    'restore_worker',
    `
insert into ${workers} (host, pid, version, concurrency, routes, dead_routes, schedules, parent, output, id)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
on duplicate key update id = id`,
  );

/** Parameters: worker. */
export const withdrawWorker = ({ workers }: Workers): string =>
  named('withdraw_worker', `delete from ${workers} where id = ?`);

/** Whether a worker holds attempts. Parameters: worker. */
export const holdsAttempts = ({ queue }: Pick<QueueTables, 'queue'>): string =>
  named('holds_attempts', `select exists (select 1 from ${queue} f where f.executor_ativo = ?) as holding`);

/**
 * Writes down that a worker has stopped. A lost worker that is not missed any more is back, and stays. Parameters: worker,
 * whether it was lost.
 */
export const retireWorker = ({ workers }: Workers): string =>
  named(
    'retire_worker',
    `
update ${workers} w
set w.stopped_at = ${now}
where w.id = ? and w.stopped_at is null and (w.missed_at is not null or not ?)`,
  );

/** Whether a worker was told to stop; no row when it is not written down. Parameters: worker. */
export const isHalted = ({ workers }: Workers): string =>
  named('is_halted', `select w.halt_at is not null as halted from ${workers} w where w.id = ?`);

/** The workers that run now, locked. */
export const lockRunning = ({ workers }: Workers): string =>
  named(
    'lock_running_workers',
    `select w.id from ${workers} w where w.stopped_at is null order by w.id for update`,
  );

/** Tells all running workers to stop by their rows. */
export const haltWorkers = ({ workers }: Workers): string =>
  named('halt_workers', `update ${workers} w set w.halt_at = ${now} where w.stopped_at is null`);

/** Deletes workers that stopped longer ago. Parameters: days. */
export const forgetWorkers = ({ workers }: Workers): string =>
  named('forget_workers', `delete from ${workers} where stopped_at < ${after('? * -86400000')}`);

/**
 * Those of some workers that are not registered, or that an earlier look has missed long enough ago. Parameters: workers that are
 * missing now, milliseconds that are long enough.
 */
export const missingLongEnough = ({ workers }: Workers): string =>
  named(
    'confirm_lost',
    `
select missing.id
from ${ids} missing
left join ${workers} w on w.id = missing.id
where w.id is null or w.missed_at <= ${after('0 - ?')}`,
  );

/**
 * Writes down since when workers are missing, and clears it for those that are back. The time is kept in the table because the
 * worker that looks may be lost as well; one from the future is written again, because the server's clock was set back since.
 * Parameters: workers that are missing now.
 */
export const noteMissing = ({ workers }: Workers): string =>
  named(
    'note_missing',
    `
update ${workers} w
left join ${ids} missing on missing.id = w.id
set w.missed_at = if(missing.id is null, null, ${now})
where (w.missed_at is null) = (missing.id is not null) or w.missed_at > ${now}`,
  );

/** True for a worker whose lease runs: it ends in the future, though no later than one that is renewed now. */
export const isLeased = (row: string): string =>
  `coalesce(${row}.lease_until > ${now} and ${row}.lease_until <= ${after(String(longestLeaseMs))}, 0)`;

/** For how many whole seconds the server has run. In a select it would be found in different tables, or in none. */
const upTime = `show global status like 'Uptime'`;

/**
 * Four answers: the server's time up; none of an update of no row, which a server that only reads refuses; which of the workers that have started and not stopped, and of some others, hold neither
 * lock nor lease; and whether any is marked as missing, whether others run, and the server's clock. It reads the locks and takes none itself.
 * Parameters: ids of others, prefix of the locks' names, the looker's id.
 */
export const findMissing = ({ workers }: Workers): string =>
  named(
    'lost_workers',
    `
${upTime};
update ${workers} w set w.missed_at = w.missed_at where false;
select known.id
from (select w.id from ${workers} w where w.stopped_at is null union select other.id from ${ids} other) known
left join ${workers} w on w.id = known.id
where is_used_lock(concat(?, known.id)) is null and not ${isLeased('w')};
select
  exists (select 1 from ${workers} w where w.missed_at is not null) as noted,
  exists (select 1 from ${workers} w where w.stopped_at is null and w.id <> ?) as others,
  ${epochMs(now)} as at_ms`,
  );

/** Executors of running attempts that are not workers, or have stopped. It leaps through the index, from worker to worker; 0 stands for none. */
export const unregisteredHolders = ({ queue, workers }: Pick<QueueTables, 'queue' | 'workers'>): string =>
  named(
    'unregistered_holders',
    `
select holding.id
from (
  select f.executor_ativo as id from ${queue} f force index (running)
  where f.executor_ativo is not null
  group by f.executor_ativo
) holding
left join ${workers} w on w.id = holding.id and w.stopped_at is null
where w.id is null`,
  );

/** The detached workers of a host that run an attempt. Parameters: host. */
export const detachedOn = ({ queue, workers }: Pick<QueueTables, 'queue' | 'workers'>): string =>
  named(
    'detached_on',
    `
select ${routeExpression('f.')} as route, parent.pid as parent_pid
from ${workers} w
join ${queue} f force index (running) on f.executor_ativo = w.id
left join ${workers} parent on parent.id = w.parent and parent.stopped_at is null
where w.stopped_at is null and w.parent is not null and w.host = ?`,
  );

/** Whether what a worker runs was cancelled. Parameters: worker. */
export const isCancelled = ({ queue }: Pick<QueueTables, 'queue'>): string =>
  named(
    'is_cancelled',
    `
select exists (
  select 1 from ${queue} f where f.executor_ativo = cast(? as signed) and f.cancelada_por is not null
) as cancelled`,
  );

/** A worker that was called lost and is back has not stopped. Parameters: worker. */
export const reviveWorker = ({ workers }: Workers): string =>
  named(
    'revive_worker',
    `
update ${workers} w set w.stopped_at = null, w.missed_at = null
where w.id = ? and (w.stopped_at is not null or w.missed_at is not null)`,
  );

/**
 * Renews a worker's lease. A worker that was called lost meanwhile comes back under its id; by the fence it does not hold
 * its former attempts. Parameters: milliseconds, worker.
 */
export const renewLease = ({ workers }: Workers): string =>
  named(
    'renew_lease',
    `update ${workers} w set w.lease_until = ${after('?')}, w.stopped_at = null where w.id = ?`,
  );

/**
 * What a worker that was woken may have been woken for besides new tasks, in three texts that change with it: when workers were
 * told to stop, what is paused, recurs or, of what runs, is cancelled, and when the next scheduled task is due.
 */
export const readNotices = ({ queue, workers, paused, schedules }: QueueTables): string =>
  named(
    'read_notices',
    `
select
  (select max(w.halt_at) from ${workers} w where w.stopped_at is null) as halted,
  concat_ws(' ',
    (select concat_ws(' ', count(*), sum(crc32(p.route)), max(p.paused_at)) from ${paused} p),
    (select concat_ws(' ', count(*), max(s.changed_at)) from ${schedules} s),
    (select concat_ws(' ', count(*), sum(f.id)) from ${queue} f force index (running)
      where f.executor_ativo is not null and f.cancelada_por is not null)) as changed,
  (select min(f.agendada_em) from ${queue} f) as due`,
  );
