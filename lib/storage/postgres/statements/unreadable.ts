import { quietSetting, routeExpression, statement } from '../statement.js';
import { copied, copiedFrom, deadTaskOf } from './fail.js';
import { inlinePayloadBytes, taskFields } from './task-fields.js';
import { skipRoutes } from './waiting.js';

// Attempts with bytes that cannot be sent to a client: the server refuses only statements that read their texts.

/** All that a claim reads of some attempts. Parameters: ids. */
export const readTexts = statement(
  'read_texts',
  ({ queue }) => `
select ${taskFields},
  case when octet_length(own.payload) <= ${inlinePayloadBytes} then own.payload end as payload_inline
from ${queue} f
cross join lateral (
  select case when f.payload is null and f.id_inicial is not null
    then (select first.payload from ${queue} first where first.id = f.id_inicial) else f.payload end as payload
) own
where f.id = any($1::bigint[])`,
);

/** Some of the first pending attempts of every route, whatever its name. Parameters: how many of each. */
export const pendingOfEachRoute = statement(
  'pending_of_each_route',
  ({ queue }) => `
with recursive ${skipRoutes(queue)}
select f.id
from routes
cross join lateral (
  select f.id from ${queue} f
  where f.status = 'pendente' and ${routeExpression('f.')} = routes.route
  order by f.prioridade desc, f.data_hora, f.id
  limit $1::int
) f
where routes.route is not null`,
);

/** The first dead attempts that are pending, with or without a handler. Parameters: how many. */
export const pendingDead = statement(
  'pending_dead',
  ({ queue }) => `
select f.id from ${queue} f
where f.dead and f.status = 'pendente'
order by f.data_hora, f.id
limit $1::int`,
);

/**
 * Fails pending attempts that cannot be read, for good, and starts their dead chains. Nothing is computed of their
 * texts, which might be refused as well: a dead chain keeps the hash that its task has.
 *
 * Parameters, one array element per attempt: ids, messages; then whether dead chains start. One that was inserted by hand
 * stays in its place.
 */
export const buryUnreadable = statement(
  'bury_unreadable',
  ({ queue }) => `
with ${quietSetting(queue)},
mine as materialized (
  select f.id from ${queue} f
  where f.id = any($1::bigint[]) and f.status = 'pendente'
  for no key update skip locked
),
failed as (
  update ${queue} f
  set status = 'falha', mensagem = x.message, finalizada_em = clock_timestamp(), proxima_tentativa = null,
    reenfileirado = false, estouro_tentativas = true
  from unnest($1::bigint[], $2::text[]) x (id, message)
  where f.id = x.id and f.id = any(array(select id from mine)) and f.status = 'pendente'
  returning f.*
),
buried as (
  insert into ${queue} (payload, payload_hash, dead, live_id, ${copied})
  select coalesce(f.payload, (select first.payload from ${queue} first where first.id = f.id_inicial)), f.payload_hash,
    true, coalesce(f.id_inicial, f.id), ${copiedFrom('f')}
  from failed f, quiet
  where $3::boolean and not f.dead and ${deadTaskOf(queue, 'f')} is null
  returning id, live_id
)
select f.id, coalesce(f.id_inicial, f.id) as first_id, coalesce(f.tentativa, 1) as attempt, f.dead, f.mensagem as message,
  buried.id as dead_id
from failed f
left join buried on buried.live_id = coalesce(f.id_inicial, f.id)`,
);
