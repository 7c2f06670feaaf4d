import { heldBy, quietSetting, statement } from '../statement.js';
import type { QueueTables } from '../identifiers.js';
import { keyOrder } from '../schema/schema.js';
import { columnsOf, keys, payloadHash } from './fail.js';

/** What a sealed envelope ends with, besides its last brace: the seal in hexadecimal. */
const sealed = (seal: string): string =>
  `left(envelope.text, -1) || ', "seal" : "' || encode(${seal}, 'hex') || '"}'`;

/** What the seal covers: publication and subscription, so that no other delivery can use it, and the envelope. */
const covered = `convert_to(concat_ws(' ', coalesce(p.id_inicial, p.id), octet_length(convert_to(s.id, 'UTF8')), s.id, envelope.text), 'UTF8')`;

/** HMAC-SHA256 of what the seal covers. */
const seal = `sha256(keys.outer_key || sha256(keys.inner_key || ${covered}))`;

/**
 * Delivers publications: one copy for every active subscription of the topic whose tenant and group are
 * either unset or the publication's, and the publication's own success; all or nothing.
 *
 * Parameters: ids, reservations, worker, which of them stay as they are while no subscription matches. These, and rows that
 * another session has locked, are left out of the answer. A copy's payload is an
 * envelope: the publication's text and the subscription's whole row at this moment, so that later changes of the
 * subscription do not reach it. A copy with a URL is sealed, so that its sender knows that a worker has chosen that URL:
 * see `lib/webhooks/delivery-seal.ts`. The laterals are kept apart by `offset 0`, or the planner would write the envelope
 * again wherever it is used.
 */
const fanOutStatement = (name: string, seals: boolean) =>
  statement(
    name,
    (tables: QueueTables) => `
with ${quietSetting(tables.queue)},
publications as materialized (
  select f.*, p.waits
  from ${tables.queue} f, unnest($1::bigint[], $2::int[], $4::boolean[]) p (id, reservation, waits)
  where f.id = p.id and f.reserva = p.reservation and f.id = any($1::bigint[]) and ${heldBy('$3::bigint')}
  for no key update of f skip locked
),
copies as (
  insert into ${tables.queue} (origem, destino, processo, chave_externa, tenant, grupo_empresarial, prioridade, metadados,
    payload, payload_hash, publication_id, subscriber_id, ${keys})
  select p.origem, p.destino, p.processo, p.chave_externa, p.tenant, p.grupo_empresarial, p.prioridade, p.metadados,
    stored.payload, ${payloadHash('stored.payload')}, coalesce(p.id_inicial, p.id), s.id, ${columnsOf('p', keys)}
  from publications p
  cross join quiet
  cross join lateral (
    select coalesce(p.payload, (select first.payload from ${tables.queue} first where first.id = p.id_inicial)) as payload
  ) own
  join ${tables.subscriptions ?? 'none'} s on s.processo = p.processo ${keyOrder} and s.ativo
    and (s.tenant is null or s.tenant = p.tenant)
    and (s.grupo_empresarial is null or s.grupo_empresarial = p.grupo_empresarial)
  cross join lateral (
    select json_build_object('publication', own.payload, 'subscription', row_to_json(s))::text as text offset 0
  ) envelope
  ${
    seals
      ? `cross join (
    select (select inner_key from ${tables.seal}) as inner_key, (select outer_key from ${tables.seal}) as outer_key
  ) keys
  cross join lateral (
    select case when s.url is null or keys.inner_key is null then envelope.text else ${sealed(seal)} end as payload offset 0
  ) stored`
      : 'cross join lateral (select envelope.text as payload) stored'
  }
  returning publication_id
),
counted as (
  select p.id, p.waits, (select count(*) from copies c where c.publication_id = coalesce(p.id_inicial, p.id)) as deliveries
  from publications p
)
update ${tables.queue} f
set status = 'sucesso', finalizada_em = clock_timestamp(),
  mensagem = case when counted.deliveries = 0 then 'discarded: no active subscription matches'
    else 'delivered to ' || counted.deliveries || ' subscription' || case when counted.deliveries = 1 then '' else 's' end end
from counted
where f.id = counted.id and f.id = any($1::bigint[]) and (counted.deliveries > 0 or not counted.waits)
returning f.id, counted.deliveries`,
  );

export const fanOut = fanOutStatement('fan_out', true);

/** For a worker whose role may not read the key. */
export const fanOutUnsealed = fanOutStatement('fan_out_unsealed', false);
