import { heldBy, isIsolated, routeExpression, statement } from '../statement.js';
import { taskFields } from './settle-and-claim.js';

/**
 * Makes due scheduled attempts pending, oldest first, and says when the next one is due (a time in the past when
 * somebody has it locked), and whether attempts wait that are to be run alone.
 *
 * Parameters: limit.
 */
export const promote = statement(
  'promote',
  ({ queue }) => `
with due as materialized (
  select f.id
  from ${queue} f
  where f.status = 'agendada' and f.data_hora <= now()
  order by f.data_hora, f.id
  limit $1::int
  for no key update skip locked
),
promoted as (
  update ${queue} f set status = 'pendente' where f.id = any(array(select id from due))
  returning f.data_hora, ${isIsolated('f.')} as isolated
)
select (select count(*)::int from promoted) as promoted,
  (select min(data_hora) from promoted) as earliest,
  (select extract(epoch from f.data_hora - clock_timestamp()) * 1000
   from ${queue} f
   where f.status = 'agendada' and f.id not in (select id from due)
   order by f.data_hora, f.id
   limit 1) as next_due_ms,
  coalesce((select bool_or(isolated) from promoted), false)
    or exists (select from ${queue} f where f.status = 'pendente' and ${isIsolated('f.')}) as isolated`,
);

/**
 * When the next attempt is due, in milliseconds from now: what an idle worker asks, by one statement, before it does
 * anything else; and whether it holds rows, which it knows nothing of then. In the order of the index, or the planner
 * may choose another one. Parameters: worker, or null, as that walks over what an old snapshot keeps.
 */
export const nextDue = statement(
  'next_due',
  ({ queue }) => `
select least(
  (select 0 from ${queue} f where f.status = 'pendente' order by ${routeExpression('f.')} limit 1),
  (select extract(epoch from f.data_hora - clock_timestamp()) * 1000
   from ${queue} f
   where f.status = 'agendada'
   order by f.data_hora, f.id
   limit 1)
) as next_due_ms,
exists (select from ${queue} f where f.status = 'processando' and f.executor = $1::bigint) as holding`,
);

/** Routes whose tasks are to wait. */
export const pausedRoutes = statement('paused_routes', ({ paused }) => `select p.route from ${paused} p`);

/** Routes that have pending attempts: skips through the index, one probe per route. */
export const pendingRoutes = statement(
  'pending_routes',
  ({ queue }) => `
with recursive routes (route) as (
  (select ${routeExpression('f.')} from ${queue} f where f.status = 'pendente' order by 1 limit 1)
  union all
  select (
    select ${routeExpression('f.')} from ${queue} f
    where f.status = 'pendente' and ${routeExpression('f.')} > routes.route
    order by 1 limit 1
  )
  from routes
  where routes.route is not null
)
select route from routes where route is not null`,
);

/** True when an attempt has been due and pending for longer than the parameter (ms). */
export const hasOverdue = statement(
  'has_overdue',
  ({ queue }) => `
select exists (
  select from ${queue} f
  where f.status = 'pendente' and f.data_hora <= now() - $1::float8 * interval '1 millisecond'
) as overdue`,
);

/** Reads the payload of an attempt: its own, or the first attempt's. */
export const loadPayload = statement(
  'load_payload',
  ({ queue }) => `
select coalesce(f.payload, first.payload) as payload
from ${queue} f
left join ${queue} first on first.id = f.id_inicial
where f.id = $1::bigint`,
);

/**
 * Rows that a worker holds, in no order: one by id would walk the whole key. Read for recovery, a worker that is missed
 * no longer holds nothing: it claims only after that is written down. Parameters: worker, limit, whether for recovery.
 */
export const readHeld = statement(
  'read_held',
  ({ queue, workers }) => `
select ${taskFields}, ${routeExpression('f.')} as route
from ${queue} f
where f.status = 'processando' and f.executor = $1::bigint
  and not ($3::boolean and exists (
    select from ${workers} w where w.id = $1::bigint and w.missed_at is null and w.stopped_at is null
  ))
limit $2::int`,
);

/**
 * Which of some attempts a worker holds, by their keys: the running index decays under an old snapshot.
 * Parameters: worker, ids.
 */
export const stillHeld = statement(
  'still_held',
  ({ queue }) => `
select f.id, f.reserva from ${queue} f where f.id = any($2::bigint[]) and ${heldBy('$1::bigint')}`,
);

/**
 * Holders of rows that are not in the workers' table as running. Skips through the running index, one probe per
 * holder, and over all the dead entries that an old snapshot keeps there.
 */
export const unregisteredHolders = statement(
  'unregistered_holders',
  ({ queue, workers }) => `
with recursive holding (id) as (
  (select f.executor from ${queue} f where f.status = 'processando' order by 1 limit 1)
  union all
  select (
    select f.executor from ${queue} f where f.status = 'processando' and f.executor > holding.id order by 1 limit 1
  )
  from holding
  where holding.id is not null
)
select h.id from holding h
where h.id is not null
  and not exists (select from ${workers} w where w.id = h.id and w.stopped_at is null)`,
);
