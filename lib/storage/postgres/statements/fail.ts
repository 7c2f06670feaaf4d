import { textBytes } from '../readable-rows.js';
import { quietSetting, statement } from '../statement.js';

/** What the next attempt and the dead chain copy from the attempt that failed. */
export const copied = `origem, destino, processo, chave_externa, tenant, grupo_empresarial, pub_sub, publication_id, subscriber_id, prioridade, rodada, metadados`;
export const copiedFrom = (row: string): string => columnsOf(row, copied);

/** What next attempts, replays and deliveries also copy, but not dead chains: they leave the order of their key. */
export const keys = 'chave_fila, lote';

/** Those columns of a row. */
export function columnsOf(row: string, columns: string): string {
  return columns
    .split(', ')
    .map((name) => `${row}.${name}`)
    .join(', ');
}

/** SHA-256 of a payload as the contract stores it: the hexadecimal text, in bytes. */
export const payloadHash = (payload: string): string =>
  `case when ${payload} <> '' then convert_to(encode(sha256(convert_to(${payload}, 'UTF8')), 'hex'), 'UTF8') end`;

/** The attempt that follows one in its round, if there is one. A scalar, so that it is looked up by its index whatever the plan. */
export const followerOf = (queue: string, row: string): string =>
  `(select n.id from ${queue} n where n.id_anterior = ${row}.id and n.rodada = ${row}.rodada limit 1)`;

/** The first attempt of the dead chain of an attempt's task, in its round, if there is one. */
export const deadTaskOf = (queue: string, row: string): string =>
  `(select d.id from ${queue} d where d.dead and d.id_anterior is null
      and d.live_id = coalesce(${row}.id_inicial, ${row}.id) and d.rodada = ${row}.rodada limit 1)`;

/**
 * Inserts the next attempts of those that failed and are to be retried, unless one was inserted by hand.
 *
 * @param from SQL of their rows `f`
 * @param losses SQL of the workers that each has lost in a row
 */
export const nextAttempts = (
  queue: string,
  from: string,
  losses: string,
): string => `insert into ${queue} (id_inicial, data_hora_inicial, data_hora, tentativa, status, id_anterior,
    data_hora_anterior, status_anterior, mensagem_anterior, payload, payload_hash, dead, live_id, perdas, ${keys},
    chave_unica, limite, ${copied})
  select coalesce(f.id_inicial, f.id), f.data_hora_inicial, f.proxima_tentativa, coalesce(f.tentativa, 1) + 1, 'agendada', f.id,
    f.data_hora, f.status, f.mensagem,
    -- One that was edited goes on with what it was edited to.
    case when f.id_inicial is not null then f.payload end, f.payload_hash, f.dead, f.live_id,
    ${losses}, ${columnsOf('f', keys)},
    -- A key that is run in order stays taken until its next attempt has ended.
    f.chave_unica, case when f.chave_fila like 'o:%' then f.limite end, ${copiedFrom('f')}
  from ${from}
  where f.reenfileirado and ${followerOf(queue, 'f')} is null
  returning id_anterior`;

/**
 * Closes attempts as failed and, in the same statement, inserts each one's next attempt, or buries the chain:
 * starts its dead chain, unless it already is one. Which of the two is the verdict of `failure-rule.ts`.
 *
 * Parameters, one array element per failure: ids, reservations, workers, messages, notes that end them, errors, delay of
 * the next attempt in ms, whether it counts from the failure (else from when the attempt was due), fixed time of the next
 * attempt (buried when there is neither), losses of the next attempt, whether nothing is computed of the payload, which
 * the database has refused to read.
 *
 * A next attempt or dead task that was inserted by hand stays in its place: refusing it would keep this attempt running for
 * ever. Whatever else keeps one from being inserted, such as an id that is taken, fails the statement: an attempt must not
 * end without what follows it.
 *
 * An attempt that was cancelled while it ran ends so: nothing follows it, and its message is the reason.
 *
 * Rows that another session has locked are skipped and failed next time. The message is cut here, because the column
 * counts characters as the database's encoding does.
 */
export const fail = statement(
  'fail',
  ({ queue }) => `
with ${quietSetting(queue)},
mine as materialized (
  select f.id
  from ${queue} f
  where f.id = any($1::bigint[]) and f.status || '' = 'processando'
  for no key update skip locked
),
ruled as materialized (
  select x.*, x.delay_ms is not null or x.at is not null as retry
  from mine
  join unnest($1::bigint[], $2::int[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::float8[], $8::boolean[],
    $9::timestamptz[], $10::int[], $11::boolean[])
    x (id, reservation, worker, message, note, error, delay_ms, from_failure, at, next_losses, untouched) on x.id = mine.id
),
failed as (
  update ${queue} f
  set status = 'falha',
    mensagem = case when f.cancelada_por is null then left(x.message, 500 - length(x.note)) || x.note else f.mensagem end,
    erro = x.error,
    finalizada_em = clock_timestamp(),
    reenfileirado = x.retry and f.cancelada_por is null,
    estouro_tentativas = not x.retry and f.cancelada_por is null,
    proxima_tentativa = case when x.retry and f.cancelada_por is null then
      coalesce(x.at, case when x.from_failure or not isfinite(f.data_hora) then clock_timestamp() else f.data_hora end + x.delay_ms * interval '1 millisecond')
    end
  from ruled x
  where f.id = x.id and f.reserva = x.reservation and f.executor + 0 = x.worker
    and f.id = any(array(select id from mine))
  returning f.*, x.next_losses, x.untouched
),
next as (
  ${nextAttempts(queue, 'failed f, quiet', 'f.next_losses')}
),
buried as (
  insert into ${queue} (payload, payload_hash, dead, live_id, ${copied})
  select own.payload, case when f.untouched then f.payload_hash else ${payloadHash('own.payload')} end, true, coalesce(f.id_inicial, f.id), ${copiedFrom('f')}
  from failed f, quiet, lateral (
    select coalesce(f.payload, (select first.payload from ${queue} first where first.id = f.id_inicial)) as payload
  ) own
  where f.estouro_tentativas and not f.dead and ${deadTaskOf(queue, 'f')} is null
  returning id, live_id
)
select f.id, buried.id as dead_id, ${textBytes('f.cancelada_por')} as cancelled_by,
  case when f.cancelada_por is not null then ${textBytes('f.mensagem')} end as reason, getdatabaseencoding() as encoding,
  case when f.reenfileirado then extract(epoch from f.proxima_tentativa - clock_timestamp()) * 1000 end as next_ms
from failed f
left join buried on buried.live_id = coalesce(f.id_inicial, f.id)`,
);
