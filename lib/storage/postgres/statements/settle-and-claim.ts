import { routeExpression, heldBy, statement } from '../statement.js';

/** Payloads up to this many bytes travel with the claim; larger ones are read when their task starts. */
export const inlinePayloadBytes = 65_536;

/** What a claimed or held row shows of itself. `key_time` is when the task's very first attempt was due. */
export const taskFields = `
    f.id, f.reserva, f.tentativa, f.id_inicial, f.processo, f.origem, f.destino, f.chave_externa, f.tenant,
    f.grupo_empresarial, f.prioridade, f.data_hora, f.data_hora_inicial, f.publication_id, f.subscriber_id,
    f.pub_sub, f.dead, f.live_id, f.perdas, f.metadados`;

/**
 * Completes the attempts of the last batch and claims the next one: one round trip, one commit.
 *
 * Parameters: completed ids, their reservations, messages and results; worker; routes and their limits; limit
 * of all.
 *
 * `mine` locks what is settled and skips what somebody else has locked: that is settled next time. `peek`
 * refers to `settled`, so that settling always runs first (unordered, eight claimers over ten routes
 * deadlocked 17 times in 6 runs). `settled_only` is null when all were settled, else the ids that were. `peek` looks at the best rows of every route without locking and counts how
 * many of the overall best each route has; `got` locks that many per route. So nothing is locked in vain,
 * and claimers that see the same rows still lock different ones. `locked_routes` is null when every route gave
 * what it was seen to have; else the others, because the best rows of all may be locked by somebody for long.
 */
export const settleAndClaim = statement(
  'settle_and_claim',
  ({ queue }) => `
with mine as materialized (
  select f.id
  from ${queue} f
  where f.id = any($1::bigint[]) and ${heldBy('$5::bigint')}
  for no key update skip locked
),
done as (
  update ${queue} f
  set status = 'sucesso', mensagem = s.message, resultado = s.result, finalizada_em = clock_timestamp()
  from unnest($1::bigint[], $2::int[], $3::text[], $4::text[]) s (id, reservation, message, result)
  where f.id = s.id and f.reserva = s.reservation and f.id = any(array(select id from mine))
  returning f.id
),
settled as materialized (
  select count(*)::int as n,
    case when count(*) < cardinality($1::bigint[]) then coalesce(array_agg(id), '{}') end as some
  from done
),
peek as materialized (
  select best.ord, count(*)::int as n
  from (
    select r.ord
    from settled, unnest($6::text[], $7::int[]) with ordinality r (route, most, ord)
    cross join lateral (
      select f.id, f.prioridade, f.data_hora
      from ${queue} f
      where f.status = 'pendente' and ${routeExpression('f.')} = r.route and f.data_hora <= now()
      order by f.prioridade desc, f.data_hora, f.id
      limit r.most + 0 * settled.n
    ) look
    order by look.prioridade desc, look.data_hora, look.id
    limit $8::int
  ) best
  group by best.ord
),
got as materialized (
  select locked.id, r.ord
  from peek, unnest($6::text[], $7::int[]) with ordinality r (route, most, ord)
  cross join lateral (
    select f.id
    from ${queue} f
    where f.status = 'pendente' and ${routeExpression('f.')} = r.route and f.data_hora <= now()
    order by f.prioridade desc, f.data_hora, f.id
    limit peek.n
    for no key update skip locked
  ) locked
  where r.ord = peek.ord
),
claimed as (
  update ${queue} f
  set status = 'processando', executor = $5::bigint, reserva = f.reserva + 1, iniciada_em = clock_timestamp()
  where f.id = any(array(select id from got))
  returning ${taskFields}, f.payload
)
select settled.some as settled_only,
  case when (select sum(peek.n) from peek) > (select count(*) from got) then array(
    select peek.ord from peek where peek.n > (select count(*) from got where got.ord = peek.ord)
  ) end as locked_routes,
  ${taskFields}, octet_length(resolved.payload) as payload_bytes,
  case when octet_length(resolved.payload) <= ${inlinePayloadBytes} then resolved.payload end as payload_inline,
  case when f.dead then (select live.data_hora_inicial from ${queue} live where live.id = f.live_id) end as key_time
from settled
left join claimed f on true
left join lateral (
  select coalesce(f.payload, (select first.payload from ${queue} first where first.id = f.id_inicial)) as payload
) resolved on true
order by f.prioridade desc, f.data_hora, f.id`,
);
