import { routeExpression, statement } from '../statement.js';
import { taskFields } from './settle-and-claim.js';

/**
 * Locks of this session on tasks that are held no longer are given back, and missing ones taken: after a lost
 * connection, or a claim that failed. `refused` tells whether somebody else has one of these.
 *
 * Parameters: ids of the attempts that are held.
 */
export const keepTaskLocks = {
  name: 'tarefa_keep_task_locks',
  text: `-- name: keep_task_locks
with mine as materialized (
  select (l.classid::bigint << 32) | l.objid::bigint as id
  from pg_locks l
  where l.locktype = 'advisory' and l.objsubid = 1 and l.granted and l.pid = pg_backend_pid()
),
given as materialized (
  select pg_advisory_unlock(mine.id) from mine where mine.id <> all($1::bigint[])
),
taken as materialized (
  select pg_try_advisory_lock(held.id) as got
  from unnest($1::bigint[]) held (id)
  where held.id not in (select mine.id from mine)
)
select exists (select from taken where not got) as refused, (select count(*) from given) as given`,
};

/** Gives the locks of tasks back. Parameters: ids. */
export const giveTaskLocks = {
  name: 'tarefa_give_task_locks',
  text: `-- name: give_task_locks
select count(pg_advisory_unlock(done.id)) from unnest($1::bigint[]) done (id)`,
};

/**
 * Takes over attempts that a worker of nsj-queue-lib has left: running, with no worker of ours, and nobody holds the
 * task's lock. The row is locked first, so it still runs when the lock is asked for. Parameters: worker, limit.
 */
export const takeOver = statement(
  'take_over',
  ({ queue }) => `
with running as materialized (
  select f.id from ${queue} f
  where f.status = 'processando' and f.executor is null
  limit $2::int
  for no key update skip locked
),
abandoned as materialized (
  select running.id from running where pg_try_advisory_xact_lock(running.id)
)
update ${queue} f
set executor = $1::bigint, reserva = f.reserva + 1
where f.id = any(array(select id from abandoned))
returning ${taskFields}, ${routeExpression('f.')} as route`,
);
