import { heldBy, quietSetting, statement } from '../statement.js';
import { payloadHash } from './fail.js';

/**
 * Delivers publications: one copy for every active subscription of the topic whose tenant and group are
 * either unset or the publication's, and the publication's own success; all or nothing.
 *
 * Parameters: ids, reservations, worker. What somebody else has locked is left out of the answer. A copy's payload is an envelope: the publication's text and the
 * subscription's whole row at this moment, so that later changes of the subscription do not reach it.
 */
export const fanOut = statement(
  'fan_out',
  ({ queue, subscriptions }) => `
with ${quietSetting},
publications as materialized (
  select f.*
  from ${queue} f, unnest($1::bigint[], $2::int[]) p (id, reservation)
  where f.id = p.id and f.reserva = p.reservation and f.id = any($1::bigint[]) and ${heldBy('$3::bigint')}
  for no key update of f skip locked
),
copies as (
  insert into ${queue} (origem, destino, processo, chave_externa, tenant, grupo_empresarial, prioridade, metadados,
    payload, payload_hash, publication_id, subscriber_id)
  select p.origem, p.destino, p.processo, p.chave_externa, p.tenant, p.grupo_empresarial, p.prioridade, p.metadados,
    envelope.payload, ${payloadHash('envelope.payload')}, coalesce(p.id_inicial, p.id), s.id
  from publications p
  cross join quiet
  cross join lateral (
    select coalesce(p.payload, (select first.payload from ${queue} first where first.id = p.id_inicial)) as payload
  ) own
  join ${subscriptions ?? 'none'} s on s.processo = p.processo and s.ativo
    and (s.tenant is null or s.tenant = p.tenant)
    and (s.grupo_empresarial is null or s.grupo_empresarial = p.grupo_empresarial)
  cross join lateral (
    select json_build_object('publication', own.payload, 'subscription', row_to_json(s))::text as payload
  ) envelope
  returning publication_id
),
counted as (
  select p.id, (select count(*) from copies c where c.publication_id = coalesce(p.id_inicial, p.id)) as deliveries
  from publications p
)
update ${queue} f
set status = 'sucesso', finalizada_em = clock_timestamp(),
  mensagem = case when counted.deliveries = 0 then 'discarded: no active subscription matches'
    else 'delivered to ' || counted.deliveries || ' subscription' || case when counted.deliveries = 1 then '' else 's' end end
from counted
where f.id = counted.id and f.id = any($1::bigint[])
returning f.id, counted.deliveries`,
);
