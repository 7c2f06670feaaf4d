import { heldBy, statement } from '../statement.js';

/**
 * Completes attempts. `mine` locks what is settled and skips what another session has locked: that is settled next
 * time. `settled.some` is null when all were settled, else the ids that were.
 *
 * Parameters: completed ids, their reservations, messages and results; worker.
 */
export const settling = (queue: string): string => `
mine as materialized (
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
)`;

/** For a worker that has no free slot. */
export const settle = statement(
  'settle',
  ({ queue }) => `
with ${settling(queue)}
select settled.some as settled_only from settled`,
);
