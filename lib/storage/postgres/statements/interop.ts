import { quoteLiteral, type QueueTables } from '../identifiers.js';
import { nextReservation, statement } from '../statement.js';

/**
 * After a lost connection or a failed claim: releases this session's locks on tasks that the worker does not hold, and
 * takes the missing ones. `refused` is true when another session has one of the missing locks.
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
 * Takes over attempts that a worker of nsj-queue-lib has left: they run, have no worker of ours, and no session holds the
 * task's lock. The row is locked first, so it still runs when the lock is asked for. Returns only ids, because a text may
 * have bytes that cannot be sent. Parameters: worker, limit, ids to leave out.
 */
export const takeOver = statement(
  'take_over',
  ({ queue }) => `
with running as materialized (
  select f.id from ${queue} f
  where f.status = 'processando' and f.executor is null and f.id <> all($3::bigint[])
  limit $2::int
  for no key update skip locked
),
abandoned as materialized (
  select running.id from running where pg_try_advisory_xact_lock(running.id)
)
update ${queue} f
set executor = $1::bigint, reserva = ${nextReservation('f.')}
where f.id = any(array(select id from abandoned))
returning f.id`,
);

/** Running attempts without a worker of ours. Parameters: limit, ids to leave out. */
export const seeForeign = statement(
  'see_foreign',
  ({ queue }) => `
select f.id from ${queue} f
where f.status = 'processando' and f.executor is null and f.id <> all($2::bigint[])
limit $1::int`,
);

/** What taking over writes into rows that are locked. Parameters: ids, worker. */
export const tryTakeOver = statement(
  'try_take_over',
  ({ queue }) => `
update ${queue} f set executor = $2::bigint, reserva = ${nextReservation('f.')} where f.id = any($1::bigint[])`,
);

/** As programs write the queue table: with or without its schema, quoted or not. */
const tablePattern = ({ table }: QueueTables): string =>
  `(?:"?[^\\s".]+"?\\.)?"?${table.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}"?`;

/**
 * Sessions that show the client-server mode of nsj-queue-lib, whose locks are not in the database. Only its server counts
 * due tasks again and again. A worker in that mode marked the task that it runs by its last statement, while no session
 * holds the task's lock; psycopg2 writes values into its statements, so the id can be read there. `hidden`: how many
 * sessions hide their statements from this role.
 */
export const clientServerSigns = statement('client_server_signs', (tables) => {
  const table = tablePattern(tables);
  const counts = `^\\s*select\\s+count\\(\\*\\)\\s+as\\s+qtd\\s+from\\s+${table}\\s+as\\s+tarefa\\s+where\\s+status\\s*=\\s*'pendente'\\s+and\\s+tentativa\\s*<=`;
  const marks = `^\\s*update\\s+${table}\\s+set\\s+status\\s*=\\s*'processando'\\s+where\\s+id\\s*=\\s*(\\d{1,18})\\s*;?\\s*$`;
  return `
with sessions as materialized (
  select a.pid, a.query from pg_stat_activity a
  where a.datname = current_database() and a.pid <> pg_backend_pid() and a.backend_type = 'client backend'
),
marked as materialized (
  select s.pid, substring(s.query from ${quoteLiteral(`(?i)${marks}`)})::bigint as id
  from sessions s where s.query ~* ${quoteLiteral(marks)}
),
unlocked as (
  select m.pid, m.id
  from marked m join ${tables.queue} f on f.id = m.id and f.status = 'processando' and f.executor is null
  where not exists (
    select from pg_locks l
    where l.locktype = 'advisory' and l.objsubid = 1 and l.granted
      and l.database = (select d.oid from pg_database d where d.datname = current_database())
      and (l.classid::bigint << 32) | l.objid::bigint = m.id
  )
)
select (select min(s.pid) from sessions s where s.query ~* ${quoteLiteral(counts)}) as server,
  (select array_agg(u.pid || ' ' || u.id order by u.pid) from unlocked u) as workers,
  (select count(*) from sessions s where s.query = '<insufficient privilege>') as hidden`;
});
