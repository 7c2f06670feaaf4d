import { heldBy, statement } from '../statement.js';

/** Ms that settling waits for a row which another session has locked. */
const patienceMs = 20;

/** Says of ids that none is below the first one: partitions are left out by it, but not by the list. */
const fromTheLeast = 'f.id >= ($1::bigint[])[1]';

/**
 * Outcomes by their place in the parameters: the planner takes `unnest` of several arrays for one row, and looks through all
 * ids for each of them.
 */
const outcomes = `set status = 'sucesso', mensagem = ($3::text[])[s.place], resultado = ($4::text[])[s.place], finalizada_em = clock_timestamp()
  from generate_subscripts($1::bigint[], 1) s (place)
  where f.id = ($1::bigint[])[s.place] and f.reserva = ($2::int[])[s.place]`;

/** What became of `done`: `settled.some` is null when all were settled, else the ids that were. */
const settled = `settled as materialized (
  select count(*)::int as n,
    case when count(*) < cardinality($1::bigint[]) then coalesce(array_agg(id), '{}') end as some
  from done
)`;

/**
 * Completes attempts without locking their rows first, which costs a twentieth of the statement: it waits a moment for what
 * another session has locked, and fails as a whole (55P03) when that takes longer. The wait is bounded only where there is
 * something to settle, so that a claim alone always goes through, whatever a trigger of the user's waits for.
 *
 * Parameters: completed ids, of which the first is the least, so that partitions below it are left out; their reservations,
 * messages and results; worker.
 */
export const settling = (queue: string): string => `
done as (
  update ${queue} f
  ${outcomes}
    and (select case when cardinality($1::bigint[]) > 0 then set_config('lock_timeout', '${patienceMs}', true) else '' end) is not null
    and f.id = any($1::bigint[]) and ${fromTheLeast} and ${heldBy('$5::bigint')}
  returning f.id
),
${settled}`;

/**
 * Completes attempts, but for those that another session has locked: they are settled next time. For a worker that has no
 * free slot, and after {@link settling} has met a lock.
 *
 * Parameters: those of {@link settling}.
 */
export const settle = statement(
  'settle',
  ({ queue }) => `
with mine as materialized (
  select f.id
  from ${queue} f
  where f.id = any($1::bigint[]) and ${fromTheLeast} and ${heldBy('$5::bigint')}
  for no key update skip locked
),
done as (
  update ${queue} f
  ${outcomes}
    and f.id = any(array(select id from mine)) and ${fromTheLeast}
  returning f.id
),
${settled}
select settled.some as settled_only from settled`,
);
