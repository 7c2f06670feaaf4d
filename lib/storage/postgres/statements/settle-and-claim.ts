import type { ClaimShape } from '../../claims.js';
import type { QueueTables } from '../identifiers.js';
import { heldBy, nextReservation, routeExpression, statement, type Statement } from '../statement.js';

/** Payloads up to this many bytes travel with the claim; larger ones are read when their task starts. */
export const inlinePayloadBytes = 65_536;

/** What a claimed or held row shows of itself. `key_time` is when the task's very first attempt was due. */
export const taskFields = `
    f.id, f.reserva, f.tentativa, f.id_inicial, f.processo, f.origem, f.destino, f.chave_externa, f.tenant,
    f.grupo_empresarial, f.prioridade, f.data_hora, f.data_hora_inicial, f.publication_id, f.subscriber_id,
    f.pub_sub, f.dead, f.live_id, f.perdas, f.metadados`;

/**
 * Completes attempts. `mine` locks what is settled and skips what somebody else has locked: that is settled next
 * time. `settled.some` is null when all were settled, else the ids that were.
 *
 * Parameters: completed ids, their reservations, messages and results; worker.
 */
const settling = (queue: string): string => `
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

/** Which of the statements that settle and claim. */
export interface ClaimForm {
  readonly shape: ClaimShape;
  /** True when the stretches have bounds: otherwise a claim starts at the front of each route. */
  readonly bounded: boolean;
  /** True when several stretches of one route share its limit. */
  readonly capped: boolean;
  /** True when workers of nsj-queue-lib serve the same table: what they have locked is left to them. */
  readonly interop: boolean;
}

/**
 * Completes the attempts of the last batch and claims the next one: one round trip, one commit.
 *
 * Parameters: those of {@link settling}; the route and limit of each stretch, the limit of all, whether only dead
 * attempts of each stretch are taken, or only others (null: both); when bounded, the highest and the lowest priority of each stretch and the time it starts
 * at; with interop, ids to leave out.
 *
 * Claiming refers to `settled`, so that settling always runs first (unordered, eight claimers over ten routes
 * deadlocked 17 times in 6 runs). How many rows are locked per stretch is what the shapes differ in:
 *
 * - `single` locks up to the limit in every stretch and claims the best of them. Right when at most one route has
 *   work; with several flooded ones it would lock far more than it keeps, which `contended` tells.
 * - `counted` looks at the best rows of every stretch without locking, counts how many of the overall best each
 *   has, and locks that many. So nothing is locked in vain, and claimers that see the same rows still lock different
 *   ones. `locked_routes` is null when every stretch gave what it was seen to have; else the others, because the
 *   best rows of all may be locked by somebody for long.
 * - `shared` takes the stretches in their order, each up to its own limit.
 *
 * With interop a task's lock is taken before its claim can be seen, and lasts as long as the session: workers of
 * nsj-queue-lib take a running attempt without a lock for a crashed one. `refused` are those that they have.
 *
 * `exhausted_at` is set when there was less than could be taken: a moment before the snapshot, with nothing visible and
 * unlocked left of what was due until then. The moment is for commits that were under way.
 */
export function settleAndClaim({ queue }: QueueTables, form: ClaimForm): Statement {
  const { shape, bounded, capped, interop } = form;
  const name = `settle_and_claim_${shape}${bounded ? '_bounded' : ''}${capped ? '_capped' : ''}${interop ? '_interop' : ''}`;
  const text = `-- name: ${name}
with ${settling(queue)},
${shape === 'counted' ? lockCounted(queue, form) : lockAtOnce(queue, form)},${interop ? taskLocks : ''}
claimed as (
  update ${queue} f
  set status = 'processando', executor = $5::bigint, reserva = ${nextReservation('f.')}, iniciada_em = clock_timestamp()
  where f.id = any(array(select id from ${interop ? 'locked where got' : 'best'}))
  returning ${taskFields},
    case when f.payload is null and f.id_inicial is not null
      then (select first.payload from ${queue} first where first.id = f.id_inicial) else f.payload end as payload
)
select settled.some as settled_only,
  ${shape === 'counted' ? lockedRoutes : 'null'} as locked_routes,
  ${shape === 'single' ? '(select min(route) <> max(route) from got)' : 'null'} as contended,
  ${interop ? '(select array_agg(id) from locked where not got)' : 'null'} as refused,
  case when (select count(*) from best) < $8::int${interop ? ` and cardinality(${leftOut(form)}) = 0 and not exists (select from locked where not got)` : ''}
    then now() - interval '100 milliseconds' end as exhausted_at,
  ${taskFields},
  case when octet_length(f.payload) > ${inlinePayloadBytes} then octet_length(f.payload) end as payload_bytes,
  case when octet_length(f.payload) <= ${inlinePayloadBytes} then f.payload end as payload_inline,
  case when f.dead then (select live.data_hora_inicial from ${queue} live where live.id = f.live_id) end as key_time
from settled
left join claimed f on true`;
  return { name: `tarefa_${name}`, text };
}

/**
 * Ids of the attempts that a claim would take, and nothing else of them: what is left to ask when a claim cannot be
 * answered. Parameters: those of the claim, without completions.
 */
export function peekClaim({ queue }: QueueTables, form: ClaimForm): Statement {
  const { shape } = form;
  const text = `-- name: peek_claim
with ${settling(queue)},
${shape === 'counted' ? lockCounted(queue, form) : lockAtOnce(queue, form)}
select best.id from settled, best`;
  return { name: '', text };
}

const taskLocks = `
locked as materialized (
  select best.id, pg_try_advisory_lock(best.id) as got from best
),`;

/** Ids that workers of nsj-queue-lib had locked a moment ago. */
const leftOut = ({ bounded }: ClaimForm): string => (bounded ? '$13::bigint[]' : '$10::bigint[]');

const pickUpOrder = (row: string): string => `${row}.prioridade desc, ${row}.data_hora, ${row}.id`;

const stretches = (bounded: boolean): string =>
  bounded
    ? `unnest($6::text[], $7::int[], $9::boolean[], $10::int[], $11::int[], $12::timestamptz[]) with ordinality
      r (route, most, dead, highest, lowest, since, ord)`
    : `unnest($6::text[], $7::int[], $9::boolean[]) with ordinality r (route, most, dead, ord)`;

/** The best pending rows of one stretch. */
const bestOf = (queue: string, form: ClaimForm, limit: string, locking: string): string => `
    select f.id, f.prioridade, f.data_hora
    from ${queue} f
    where f.status = 'pendente' and ${routeExpression('f.')} = r.route and f.data_hora <= now() and (r.dead is null or f.dead = r.dead)${
      form.bounded
        ? ' and f.prioridade <= r.highest and f.prioridade >= r.lowest and f.data_hora >= r.since'
        : ''
    }${form.interop ? ` and f.id <> all(${leftOut(form)})` : ''}
    order by ${pickUpOrder('f')}
    limit ${limit}${locking}`;

const locked = `
    for no key update skip locked`;

/** Rows of all stretches; when capped, of every route no more than its limit. */
function candidates(queue: string, form: ClaimForm, locking: string): string {
  const { bounded, capped } = form;
  const nth = `row_number() over (partition by r.route order by ${pickUpOrder('l')})`;
  const rows = `
  select l.id, l.prioridade, l.data_hora, r.route, r.ord${capped ? `, r.most, ${nth} as nth` : ''}
  from settled, ${stretches(bounded)}
  cross join lateral (${bestOf(queue, form, 'r.most + 0 * settled.n', locking)}
  ) l`;
  return capped ? `\n  select * from (${rows}\n  ) numbered where nth <= most` : rows;
}

function lockAtOnce(queue: string, form: ClaimForm): string {
  return `got as materialized (${candidates(queue, form, locked)}
),
best as materialized (
  select got.id from got order by ${form.shape === 'shared' ? 'got.ord, ' : ''}${pickUpOrder('got')} limit $8::int
)`;
}

function lockCounted(queue: string, form: ClaimForm): string {
  return `peek as materialized (
  select counted.ord, count(*)::int as n
  from (
    select look.ord from (${candidates(queue, form, '')}
    ) look
    order by ${pickUpOrder('look')}
    limit $8::int
  ) counted
  group by counted.ord
),
best as materialized (
  select l.id, r.ord
  from peek, ${stretches(form.bounded)}
  cross join lateral (${bestOf(queue, form, 'peek.n', locked)}
  ) l
  where r.ord = peek.ord
)`;
}

const lockedRoutes = `case when (select sum(peek.n) from peek) > (select count(*) from best) then array(
    select peek.ord from peek where peek.n > (select count(*) from best where best.ord = peek.ord)
  ) end`;
