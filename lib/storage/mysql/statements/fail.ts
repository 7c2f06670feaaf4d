import type { Failure } from '../../attempt.js';
import { columnLength } from '../../columns.js';
import type { QueueTables } from '../identifiers.js';
import { after, msBetween, now, sqlMoment } from '../sql-time.js';
import { named } from '../statement.js';
import { byKey } from './held.js';

// What becomes of failed attempts: statements of one transaction, in which their rows are locked.

type Queue = Pick<QueueTables, 'queue'>;

/** What the next attempt and the dead chain copy from the attempt that failed. */
export const copied = `origem, destino, processo, chave_externa, tenant, grupo_empresarial, pub_sub, publication_id, subscriber_id, prioridade, rodada, metadados`;

/** What next attempts, replays and deliveries also copy, but not dead chains: they leave the order of their key. */
export const keys = 'chave_fila, lote';

/** Those columns of a row. */
export function columnsOf(row: string, columns: string): string {
  return columns
    .split(', ')
    .map((name) => `${row}.${name}`)
    .join(', ');
}

/** SHA-256 of a payload as the contract stores it: the hexadecimal text. Its length tells an empty one: `' '` equals `''` here. */
export const payloadHash = (payload: string): string =>
  `case when length(${payload}) > 0 then sha2(${payload}, 256) end`;

/** What is written of failures, as rows `x`. */
export const failureRows = `json_table(?, '$[*]' columns (
  id bigint path '$.id',
  message longtext character set utf8mb4 path '$.message',
  note longtext character set utf8mb4 path '$.note',
  error longtext character set utf8mb4 path '$.error',
  delay_ms double path '$.delayMs',
  from_failure int path '$.fromFailure',
  at varchar(40) path '$.at'
)) x`;

/** The parameter of {@link closeFailed}. */
export function failuresJson(failures: readonly Failure[]): string {
  const rows = failures.map(({ id, message, note, error, next }) => ({
    id,
    message: message.toWellFormed(),
    note,
    error: error?.toWellFormed(),
    delayMs: next && 'delayMs' in next ? next.delayMs : undefined,
    fromFailure: next?.kind === 'after-failure' ? 1 : 0,
    at: next?.kind === 'at' ? sqlMoment(storableDate(next.date)) : undefined,
  }));
  return JSON.stringify(rows);
}

/** The times that a column takes begin and end sooner than those of a `Date`. */
const [firstMs, lastMs] = [Date.UTC(1000, 0, 1), Date.UTC(9999, 11, 31)];
const lastTime = `'9999-12-31'`;

function storableDate(date: Date): Date {
  return new Date(Math.min(Math.max(date.getTime(), firstMs), lastMs));
}

export const since = `if(x.from_failure, ${now}, f.data_hora)`;
/** A time that a column does not take would be null, or an error, by the server. */
export const delayMs = `least(x.delay_ms, ${msBetween(since, lastTime)})`;

/**
 * Closes attempts as failed. What follows them is the verdict of `failure-rule.ts`: a next attempt at `proxima_tentativa`, or the
 * end of the chain; nothing follows an attempt that was cancelled while it ran, and its message is the reason. The message is cut
 * here, because the column counts characters as the server does. Parameters: failures.
 */
export const closeFailed = ({ queue }: Queue): string =>
  named(
    'fail',
    `
update ${failureRows}
${byKey(queue)}
set f.status = 'falha',
  f.mensagem = if(f.cancelada_por is null, concat(left(x.message, ${columnLength.message} - char_length(x.note)), x.note), f.mensagem),
  f.erro = x.error,
  f.finalizada_em = ${now},
  f.reenfileirado = f.cancelada_por is null and (x.delay_ms is not null or x.at is not null),
  f.estouro_tentativas = f.cancelada_por is null and x.delay_ms is null and x.at is null,
  f.proxima_tentativa = case
    when f.cancelada_por is not null then null
    when x.at is not null then cast(x.at as datetime(6))
    when x.delay_ms is not null then ${after(delayMs, since)}
  end`,
  );

/** Attempts that have just failed, as rows `x`. */
const failedRows = `json_table(?, '$[*]' columns (
  id bigint path '$.id', next_losses int path '$.nextLosses', untouched int path '$.untouched'
)) x`;

/** The parameter of the statements below. */
export function failedJson(failures: readonly Failure[]): string {
  return JSON.stringify(
    failures.map(({ id, nextLosses, untouched }) => ({ id, nextLosses, untouched: untouched ? 1 : 0 })),
  );
}

/**
 * Inserts the next attempts. One that was inserted by hand stays in its place: refusing it would keep the attempt before it running
 * for ever. Whatever else keeps one from being inserted, such as a unique index of the user's, fails the transaction: an attempt
 * must not end without what follows it. Parameters: failed attempts.
 */
export const insertNext = ({ queue }: Queue): string =>
  named(
    'insert_next',
    `
insert into ${queue} (id_inicial, data_hora_inicial, data_hora, tentativa, status, id_anterior,
  data_hora_anterior, status_anterior, mensagem_anterior, payload, payload_hash, dead, live_id, perdas, ${keys},
  chave_unica, limite, ${copied})
select coalesce(f.id_inicial, f.id), f.data_hora_inicial, f.proxima_tentativa,
  least(coalesce(f.tentativa, 1), 2147483646) + 1, 'agendada', f.id,
  f.data_hora, f.status, f.mensagem,
  -- One that was edited goes on with what it was edited to.
  case when f.id_inicial is not null then f.payload end, f.payload_hash, f.dead, f.live_id,
  x.next_losses, ${columnsOf('f', keys)},
  -- A key that is run in order stays taken until its next attempt has ended.
  f.chave_unica, case when f.chave_fila like 'o:%' then f.limite end, ${columnsOf('f', copied)}
from ${failedRows}
${byKey(queue)}
left join ${queue} n force index (successor) on n.id_anterior = f.id and n.rodada = f.rodada
where f.reenfileirado and n.id is null`,
  );

const chainOf = (row: string): string => `coalesce(${row}.id_inicial, ${row}.id)`;

/** The dead chain of a task `f`, in its round. */
const deadChain = (queue: string): string =>
  `${queue} d force index (dead) on d.morte = ${chainOf('f')} and d.rodada = f.rodada`;

/** Which of the attempts have a dead chain already. Parameters: failed attempts. */
export const deadBefore = ({ queue }: Queue): string =>
  named(
    'dead_before',
    `
select x.id
from ${failedRows}
${byKey(queue)}
straight_join ${deadChain(queue)}`,
  );

const ownPayload = 'coalesce(f.payload, o.payload)';

/** Starts dead chains, with the payload of the chain's first attempt, where none was inserted by hand. Parameters: failed attempts. */
export const startDead = ({ queue }: Queue): string =>
  named(
    'start_dead',
    `
insert into ${queue} (payload, payload_hash, dead, live_id, ${copied})
select ${ownPayload}, case when x.untouched then f.payload_hash else ${payloadHash(ownPayload)} end, 1,
  ${chainOf('f')}, ${columnsOf('f', copied)}
from ${failedRows}
${byKey(queue)}
left join ${queue} o force index (primary) on o.id = f.id_inicial
left join ${deadChain(queue)}
where f.estouro_tentativas and not f.dead and d.id is null`,
  );

/** What became of the attempts. Parameters: failed attempts. */
export const readFailed = ({ queue }: Queue): string =>
  named(
    'read_failed',
    `
select f.id, case when f.reenfileirado then ${msBetween(now, 'f.proxima_tentativa')} end as next_ms, d.id as dead_id,
  f.cancelada_por, case when f.cancelada_por is not null then f.mensagem end as mensagem
from ${failedRows}
${byKey(queue)}
left join ${deadChain(queue)} and f.estouro_tentativas and not f.dead`,
  );
