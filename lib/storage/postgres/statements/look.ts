import type { QueueTables } from '../identifiers.js';
import { dueInMs, heldBy, isIsolated, routeExpression, statement } from '../statement.js';
import { nsjNotifyLock } from './nsj-locks.js';
import { asBytes, textBytes } from '../readable-rows.js';
import { taskFields } from './task-fields.js';

const heldFields = `${taskFields}, ${routeExpression('f.')} as route`;
/** As text, because JSON.parse rounds numbers beyond 2^53. */
const heldTexts = `${taskFields.replaceAll(/f\.\w+/g, '$&::text')}, ${routeExpression('f.')} as route`;

/** Not among the ids and routes that are set apart. */
const isNotApart = `f.id <> all($2::bigint[]) and (cardinality($3::text[]) = 0 or ${routeExpression('f.')} <> all($3::text[]))`;

/** @param inTurn only in turn with the notify job of nsj-queue-lib */
const promotion = ({ queue }: QueueTables, inTurn: boolean): string => {
  const isDue = `f.status = 'agendada' and f.data_hora <= now() and ${isNotApart}`;
  const turn = `turn as materialized (
  select pg_try_advisory_xact_lock(${nsjNotifyLock}) as got
  where $1::int > 0 and exists (select from ${queue} f where ${isDue})
),
`;
  return `
with ${inTurn ? turn : ''}due as materialized (
  select f.id
  from ${queue} f
  where ${isDue}${inTurn ? ' and (select got from turn)' : ''}
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
  (select ${dueInMs('f.')}
   from ${queue} f
   where f.status = 'agendada' and f.data_hora < 'infinity' and f.id not in (select id from due) and ${isNotApart}
   order by f.data_hora, f.id
   limit 1) as next_due_ms,
  coalesce((select bool_or(isolated) from promoted), false)
    or exists (select from ${queue} f where f.status = 'pendente' and ${isIsolated('f.')}) as isolated`;
};

/**
 * Makes due scheduled attempts pending, oldest first, and says when the next one is due (a time in the past when another
 * session has locked it), and whether attempts wait that have to run alone.
 *
 * Parameters: limit, ids and routes to leave out.
 */
export const promote = statement('promote', (tables) => promotion(tables, false));

/**
 * {@link promote} beside workers of nsj-queue-lib. Their notify job lists what is due and then sets each row to pending by its
 * id alone: what was promoted and completed meanwhile would run again. So nothing is promoted while it holds its lock,
 * and it skips a round while this statement does.
 */
export const promoteInTurn = statement('promote_in_turn', (tables) => promotion(tables, true));

/** Due scheduled attempts, the oldest first. Parameters: those of {@link promote}. */
export const seeDue = statement(
  'see_due',
  ({ queue }) => `
select f.id from ${queue} f
where f.status = 'agendada' and f.data_hora <= now() and ${isNotApart}
order by f.data_hora, f.id
limit $1::int`,
);

/** What a promotion writes into rows that are locked. Parameters: ids. */
export const tryPromotion = statement(
  'try_promotion',
  ({ queue }) => `update ${queue} f set status = 'pendente' where f.id = any($1::bigint[])`,
);

/** Locks attempts that stand so and that no other session has locked; returns their routes as bytes. Parameters: ids, status. */
export const lockFree = statement(
  'lock_free',
  ({ queue }) => `
select f.id, ${textBytes(routeExpression('f.'))} as route, getdatabaseencoding() as encoding
from ${queue} f
where f.id = any($1::bigint[]) and f.status || '' = $2::text
for no key update skip locked`,
);

/** Paused routes, as bytes: one that cannot be sent as text must not stop the others. */
export const pausedRoutes = statement(
  'paused_routes',
  ({ paused }) =>
    `select ${textBytes('p.route')} as route, getdatabaseencoding() as encoding from ${paused} p`,
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
 * Rows that a worker holds, in no order: ordering by id would walk the whole key. For recovery the answer is empty once the
 * worker is back: it claims only after that is written down. Parameters: worker, limit, whether for recovery.
 */
export const readHeld = statement('read_held', (tables) => heldRows(tables, heldFields));

/** {@link readHeld} with texts as bytes, where one of them cannot be sent. */
export const readHeldBytes = statement('read_held_bytes', (tables) => asBytes(heldRows(tables, heldTexts)));

/** Attempts that a worker has just taken over, even with texts that cannot be sent. Parameters: worker, ids. */
export const readTakenBytes = statement('read_taken_bytes', ({ queue }) =>
  asBytes(`select ${heldTexts}
from ${queue} f
where f.id = any($2::bigint[]) and ${heldBy('$1::bigint')}`),
);

const heldRows = ({ queue, workers }: QueueTables, fields: string): string => `
select ${fields}
from ${queue} f
where f.status = 'processando' and f.executor = $1::bigint
  and not ($3::boolean and exists (
    select from ${workers} w where w.id = $1::bigint and w.missed_at is null and w.stopped_at is null
  ))
limit $2::int`;

/**
 * Which of some attempts a worker holds or has completed, and which of these were cancelled, by their keys: the running index decays under an old snapshot.
 * Parameters: worker, ids.
 */
export const standing = statement(
  'standing',
  ({ queue }) => `
select f.id, f.reserva, f.cancelada_por is not null as cancelled, f.status = 'sucesso' as completed
from ${queue} f
where f.id = any($2::bigint[]) and f.status in ('processando', 'sucesso') and f.executor = $1::bigint`,
);

/**
 * Holders of running attempts that the workers' table does not list as running; null for those without. Skips through the running index, one probe
 * per holder, and walks over the dead entries that an old snapshot keeps there.
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
  and not exists (select from ${workers} w where w.id = h.id and w.stopped_at is null)
union all
select null where exists (select from ${queue} f where f.status = 'processando' and f.executor is null)`,
);
