import { editsKey, recordFields, stateSql } from '../../columns.js';
import type { QueueTables } from '../identifiers.js';
import { hasUniqueKey } from '../schema/schema.js';
import { mostCounted } from '../schema/schema-objects.js';
import { msBetween } from '../time-spans.js';
import { mostLosses } from '../../failure-rule.js';
import { ringing } from '../statement.js';
import { columnsOf, copied, copiedFrom, deadTaskOf, keys, payloadHash } from './fail.js';

// What operators ask for. Rare, so nothing here is prepared; every change is one guarded statement anyway.

type Queue = Pick<QueueTables, 'queue'>;
type Paused = Pick<QueueTables, 'paused'>;

/** Rounds of tasks whose own cannot be counted on begin here. */
const strayRounds = 100_000_000;

const hasFailed = `f.status in ('falha', 'falha_processando')`;

/** Without a next attempt: as a task stands that may be retried. */
export const hasFailedForGood = `f.reenfileirado is not true and ${hasFailed}`;

/** `asked`: the task that an attempt belongs to. Parameter 1 is the attempt's id. */
const asked = (queue: string): string => `asked as materialized (
  select coalesce(a.id_inicial, a.id) as first_id from ${queue} a where a.id = $1::text::bigint
)`;

/** The attempts of that task which meet a condition, locked. */
const lockedAttempts = (queue: string, condition: string): string => `${asked(queue)},
chosen as materialized (
  select f.id
  from asked, ${queue} f
  where (f.id = asked.first_id or f.id_inicial = asked.first_id) and ${condition}
  for no key update of f
)`;

/** The payload, which all attempts of a chain share; nothing where the caller does not ask for it. */
export const payloadOf = (queue: string, isWanted: boolean): string =>
  isWanted
    ? `coalesce(f.payload, (select first.payload from ${queue} first where first.id = f.id_inicial))`
    : 'null::text';

/** Unfinished tasks are few and found by their indexes; what has ended is counted from a time on. Parameters: since. */
export const countTasks = ({ queue }: Queue): string => `-- name: count_tasks
select f.processo, f.subscriber_id, ${stateSql('f')} as status, count(*)::text as n
from ${queue} f
where f.reenfileirado is not true
  and (f.status in ('pendente', 'agendada', 'processando') or $1::text is null or f.data_hora >= $1::text::timestamptz)
group by 1, 2, 3
order by 1 nulls first, 2 nulls first, 3`;

/** The pending attempt that has been due for longest. */
export const oldestPending = ({ queue }: Queue): string => `-- name: oldest_pending
select ${recordFields('f', 'null::text')},
  ${msBetween('f.data_hora', 'clock_timestamp()')} as waiting_ms
from ${queue} f
where f.status = 'pendente' and f.data_hora <= now()
order by f.data_hora, f.id
limit 1`;

/**
 * One page of attempts, the newest first. Parameters: greatest id, rows of a page, then the parameters of the
 * conditions.
 *
 * @param conditions SQL over `f`, with parameters from `$3` on
 */
export const listTasks = (
  { queue }: Queue,
  conditions: readonly string[],
  withPayload: boolean,
): string => `-- name: list_tasks
select ${recordFields('f', payloadOf(queue, withPayload))}
from ${queue} f
where ${['f.id <= $1::text::bigint', ...conditions].join('\n  and ')}
order by f.id desc
limit $2::int`;

/** All attempts of the task that an attempt belongs to, oldest first. Parameters: id. */
export const taskAttempts = ({ queue }: Queue, withPayload = true): string => `-- name: task_attempts
with ${asked(queue)}
select ${recordFields('f', payloadOf(queue, withPayload))}
from asked, ${queue} f
where f.id = asked.first_id or f.id_inicial = asked.first_id
order by f.id`;

/** First attempts of the dead chains of a task. Parameters: id of its first attempt. */
export const deadChains = ({ queue }: Queue): string => `-- name: dead_chains
select f.id::text as id from ${queue} f
where f.dead and f.id_anterior is null and f.live_id = $1::text::bigint
order by f.id`;

/** Columns in which a new attempt differs from the one before. */
interface Edited {
  readonly payload: string;
  readonly hash: string;
  readonly metadata: string;
}

/** An edited payload is stored in the attempt itself, any other in the chain's first attempt. */
const unedited: Edited = {
  payload: 'case when f.id_inicial is not null then f.payload end',
  hash: 'f.payload_hash',
  metadata: 'f.metadados',
};

/** After the round of an attempt. One that is beyond what is counted was written by hand, and goes on where no other does. */
const nextRound = `case when f.rodada between 0 and ${mostCounted - 1} then f.rodada + 1
      else (abs(f.id % ${strayRounds}) + ${strayRounds})::int end`;

/** Nothing is where the new attempt of an attempt goes: no attempt that was inserted by hand, no task that lives under its unique key: in the words of its index. */
const isFree = (queue: string): string => `not exists (
      select from ${queue} n where n.id_anterior = f.id and n.rodada = ${nextRound}
    )
    and (f.chave_unica is null or left(f.chave_unica, 2) in ('w:', 'p:') or not exists (
      select from ${queue} k where k.chave_unica = f.chave_unica and ${hasUniqueKey}
    ))`;

/**
 * `restarted`, made of `chosen`, and `retried`: those that have a new attempt now. What cannot have one, because its unique key is
 * taken or an attempt that follows it was inserted by hand, stays as it is.
 */
export const restart = (queue: string, edited: Edited = unedited): string => `restarted as (
  insert into ${queue} (id_inicial, data_hora_inicial, data_hora, tentativa, status, id_anterior, data_hora_anterior,
    status_anterior, mensagem_anterior, payload, payload_hash, dead, live_id, perdas, rodada, origem, destino, processo,
    chave_externa, tenant, grupo_empresarial, pub_sub, publication_id, subscriber_id, prioridade, metadados, ${keys}, chave_unica)
  select coalesce(f.id_inicial, f.id), f.data_hora_inicial, clock_timestamp(), 1, 'pendente', f.id, f.data_hora,
    f.status, f.mensagem, ${edited.payload}, ${edited.hash}, f.dead, f.live_id,
    -- What killed its workers runs alone again, and has one chance.
    least(f.perdas, ${mostLosses - 1}), ${nextRound}, f.origem, f.destino, f.processo,
    f.chave_externa, f.tenant, f.grupo_empresarial, f.pub_sub, f.publication_id, f.subscriber_id, f.prioridade, ${edited.metadata},
    ${columnsOf('f', keys)}, f.chave_unica
  from ${queue} f
  where f.id = any(array(select id from chosen)) and f.reenfileirado is not true
    and ${isFree(queue)}
  returning id, id_anterior
),
retried as (
  update ${queue} f
  set reenfileirado = true, proxima_tentativa = clock_timestamp()
  where f.id = any(array(select id_anterior from restarted))
)`;

/**
 * Starts a failed task again: one more attempt of the same chain, with the number 1 and the next round, so that key and
 * payload stay. The lock lets one of two that do so at the same time win. Parameters: id of any attempt.
 */
export const retryTask = ({ queue }: Queue): string => `-- name: retry_task
with ${lockedAttempts(queue, hasFailedForGood)},
${restart(queue)}
select id::text as id from restarted`;

const object = (json: string): string =>
  `case when jsonb_typeof(${json}) = 'object' then ${json} else '{}' end`;
const list = (json: string): string => `case when jsonb_typeof(${json}) = 'array' then ${json} else '[]' end`;

/**
 * Starts a task again with another payload. The attempts before keep theirs; the metadata tells when it was edited, by whom, why, and
 * after which attempt. A delivery carries what was published, and is left alone. Parameters: id of any attempt, payload,
 * its hash, who, why.
 */
export const retryEdited = ({ queue }: Queue): string => `-- name: retry_edited
with ${lockedAttempts(queue, `${hasFailedForGood} and f.subscriber_id is null`)},
${restart(queue, {
  payload: '$2::text',
  hash: `convert_to($3::text, 'UTF8')`,
  metadata: `${object('f.metadados')} || jsonb_build_object('${editsKey}', ${list(`f.metadados -> '${editsKey}'`)}
      || jsonb_build_array(jsonb_build_object('at', to_jsonb(clock_timestamp()), 'by', $4::text, 'reason', $5::text, 'after', f.id::text)))`,
})}
select id::text as id from restarted`;

/** Due, scheduled for its first attempt, or retrying. */
export const isWaiting = `f.status in ('pendente', 'agendada')`;

/**
 * Makes a scheduled attempt due now, and rings for it. Parameters: id of any attempt, channel.
 */
export const runTaskNow = ({ queue }: Queue): string => `-- name: run_task_now
with ${lockedAttempts(queue, `f.status = 'agendada'`)},
moved as (
  update ${queue} f
  set status = 'pendente', data_hora = clock_timestamp()
  where f.id = any(array(select id from chosen)) and f.status = 'agendada'
  returning f.id, f.id_anterior, f.data_hora, f.prioridade
),
linked as (
  update ${queue} p set proxima_tentativa = moved.data_hora from moved where p.id = moved.id_anterior
)
select moved.id::text as id,
  ${ringing('$2::text', `floor(extract(epoch from moved.data_hora))::bigint || ' ' || moved.prioridade`)} as notified
from moved`;

/**
 * Ends a task that has not started and starts its dead chain, as when it had run out of attempts. The insert rings.
 * Parameters: id of any attempt, message.
 */
export const buryTask = ({ queue }: Queue): string => `-- name: bury_task
with ${lockedAttempts(queue, `f.status in ('pendente', 'agendada') and not f.dead`)},
ended as (
  update ${queue} f
  set status = 'falha', mensagem = $2::text, finalizada_em = clock_timestamp(), proxima_tentativa = null,
    estouro_tentativas = true
  where f.id = any(array(select id from chosen)) and f.status in ('pendente', 'agendada')
  returning f.*
),
buried as (
  insert into ${queue} (payload, payload_hash, dead, live_id, ${copied})
  select own.payload, ${payloadHash('own.payload')}, true, coalesce(f.id_inicial, f.id), ${copiedFrom('f')}
  from ended f, lateral (select ${payloadOf(queue, true)} as payload) own
  where ${deadTaskOf(queue, 'f')} is null
  returning id
)
select coalesce(
  (select id from buried),
  -- One that was inserted by hand before.
  (select min(d.id) from ${queue} d where d.dead and d.id_anterior is null and d.live_id = coalesce(f.id_inicial, f.id))
)::text as id
from ended f`;

/** Parameters: route, channel, text of the notification. */
export const pauseRoute = ({ paused }: Paused): string => `-- name: pause_route
with paused as (insert into ${paused} (route) values ($1::text) on conflict (route) do nothing returning route)
select route, ${ringing('$2::text', '$3::text')} as notified from paused`;

/** Parameters: route, channel, text of the notification. */
export const resumeRoute = ({ paused }: Paused): string => `-- name: resume_route
with resumed as (delete from ${paused} where route = $1::text returning route)
select route, ${ringing('$2::text', '$3::text')} as notified from resumed`;

export const listPaused = ({ paused }: Paused): string => `-- name: list_paused
select route, paused_at from ${paused} order by route`;
