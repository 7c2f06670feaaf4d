import { textBytes } from '../readable-rows.js';
import { dueInMs, heldBy, statement } from '../statement.js';

/**
 * Completes one attempt inside its own transaction, as that transaction's last statement. When the attempt is
 * no longer this worker's, the division raises an error: so a COMMIT sent right behind it becomes a rollback.
 *
 * Parameters: id, worker, reservation, message, result.
 */
export const completeOrRaise = statement(
  'complete',
  ({ queue }) => `
with done as (
  update ${queue} f
  set status = 'sucesso', mensagem = $4::text, resultado = $5::text, finalizada_em = clock_timestamp()
  where f.id = $1::bigint and f.reserva = $3::int and ${heldBy('$2::bigint')}
  returning f.id
)
select 1 / count(*) as done from done`,
);

/**
 * Completes all attempts of a group, or raises an error when one has another worker by now. A later read finds which attempt another worker has.
 *
 * Parameters: ids, worker, reservations, messages, results.
 */
export const completeManyOrRaise = statement(
  'complete_many',
  ({ queue }) => `
with done as (
  update ${queue} f
  set status = 'sucesso', mensagem = s.message, resultado = s.result, finalizada_em = clock_timestamp()
  from unnest($1::bigint[], $3::int[], $4::text[], $5::text[]) s (id, reservation, message, result)
  where f.id = s.id and f.reserva = s.reservation and f.id = any($1::bigint[]) and ${heldBy('$2::bigint')}
  returning f.id
)
select 1 / (count(*) = cardinality($1::bigint[]))::int as done from done`,
);

/** Completes an attempt in a transaction of the user's own: answers no row when it is no longer this worker's. */
export const completeElsewhere = statement(
  'complete_in',
  ({ queue }) => `
update ${queue} f
set status = 'sucesso', mensagem = $4::text, resultado = $5::text, finalizada_em = clock_timestamp()
where f.id = $1::bigint and f.reserva = $3::int and ${heldBy('$2::bigint')}
returning f.id`,
);

/** What a transaction sees of an attempt, and as whom: one row, whether it sees it or not. Parameters: id. */
export const seenElsewhere = statement(
  'seen_in',
  ({ queue }) => `
select current_user::text as who, f.status, f.executor::text as executor, f.reserva
from (select 1) one left join ${queue} f on f.id = $1::bigint`,
);

/**
 * Reads how an attempt ended whose COMMIT was never answered. The lock makes it wait for the old transaction,
 * should that still be committing.
 */
export const readOutcome = statement(
  'read_outcome',
  ({ queue }) => `
select f.status, f.executor, f.reserva from ${queue} f where f.id = $1::bigint for no key update`,
);

/**
 * Gives attempts back that were claimed but not started: they are pending again and keep their number; those that were cancelled
 * meanwhile end. Rows that another session has locked are skipped until the next call.
 *
 * Parameters: ids, reservations, worker.
 */
export const release = statement(
  'release',
  ({ queue }) => `
with mine as materialized (
  select f.id
  from ${queue} f
  where f.id = any($1::bigint[]) and ${heldBy('$3::bigint')}
  for no key update skip locked
)
update ${queue} f
set status = case when f.cancelada_por is null then 'pendente' else 'falha' end, executor = null, iniciada_em = null,
  finalizada_em = case when f.cancelada_por is not null then clock_timestamp() end
from unnest($1::bigint[], $2::int[]) r (id, reservation)
where f.id = r.id and f.reserva = r.reservation and f.id = any(array(select id from mine))
returning f.id`,
);

/**
 * Gives a running attempt to another worker, unless it was cancelled; returns it also when that one has it already.
 *
 * Parameters: id, reservation, the worker that holds it, the other one.
 */
export const handOver = statement(
  'hand_over',
  ({ queue }) => `
update ${queue} f set executor = $4::bigint
where f.id = $1::bigint and f.reserva = $2::int and f.status || '' = 'processando'
  and f.executor in ($3::bigint, $4::bigint) and f.cancelada_por is null
returning f.id`,
);

/**
 * Lets attempts wait that are not to run now, as they are: with their number, until a time. Those that were cancelled while they ran
 * end so. Rows that another session has locked are skipped, and wait next time.
 *
 * Parameters, one array element per attempt: ids, reservations, workers, messages, delay in ms from now, or fixed time.
 */
export const snooze = statement(
  'snooze',
  ({ queue }) => `
with mine as materialized (
  select f.id
  from ${queue} f
  where f.id = any($1::bigint[]) and f.status || '' = 'processando'
  for no key update skip locked
)
update ${queue} f
set status = case when f.cancelada_por is null then 'agendada' else 'falha' end, executor = null,
  iniciada_em = case when f.cancelada_por is not null then f.iniciada_em end,
  finalizada_em = case when f.cancelada_por is not null then clock_timestamp() end,
  mensagem = case when f.cancelada_por is null then left(x.message, 500) else f.mensagem end,
  data_hora = case when f.cancelada_por is null then coalesce(x.at, clock_timestamp() + x.delay_ms * interval '1 millisecond')
    else f.data_hora end
from unnest($1::bigint[], $2::int[], $3::bigint[], $4::text[], $5::float8[], $6::timestamptz[])
  x (id, reservation, worker, message, delay_ms, at)
where f.id = x.id and f.reserva = x.reservation and f.executor + 0 = x.worker and f.id = any(array(select id from mine))
returning f.id, null as dead_id, ${textBytes('f.cancelada_por')} as cancelled_by,
  case when f.cancelada_por is not null then ${textBytes('f.mensagem')} end as reason, getdatabaseencoding() as encoding,
  case when f.cancelada_por is null then ${dueInMs('f.')} end as next_ms`,
);

/**
 * Writes messages of attempts that run. Rows that another session has locked keep theirs: nobody waits for this, and a handler whose
 * transaction has the row is at its end. Parameters, one array element per attempt: ids, reservations, messages; worker.
 */
export const noteProgress = statement(
  'note_progress',
  ({ queue }) => `
with mine as materialized (
  select f.id
  from ${queue} f
  where f.id = any($1::bigint[]) and ${heldBy('$4::bigint')} and f.cancelada_por is null
  for no key update skip locked
)
update ${queue} f
set mensagem = left(x.message, 500)
from unnest($1::bigint[], $2::int[], $3::text[]) x (id, reservation, message)
where f.id = x.id and f.reserva = x.reservation and f.id = any(array(select id from mine))`,
);
