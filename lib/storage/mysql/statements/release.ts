import type { QueueTables } from '../identifiers.js';
import { named } from '../statement.js';
import { after, msBetween, now } from '../sql-time.js';
import { columnLength } from '../../columns.js';
import { delayMs, failureRows, since } from './fail.js';
import { byKey, idRows } from './held.js';

/**
 * Gives attempts back that were claimed but not started and whose rows are locked: they are pending again and keep their
 * number; those that were cancelled meanwhile end. Parameters: ids.
 */
export const release = ({ queue }: Pick<QueueTables, 'queue'>): string =>
  named(
    'release',
    `
update ${idRows}
${byKey(queue)}
set f.status = if(f.cancelada_por is null, 'pendente', 'falha'), f.executor = null, f.iniciada_em = null,
  f.finalizada_em = if(f.cancelada_por is null, null, ${now})`,
  );

/**
 * Gives a running attempt to another worker, unless it was cancelled. Parameters: the other worker, id, reservation, the worker
 * that holds it.
 */
export const handOver = ({ queue }: Pick<QueueTables, 'queue'>): string =>
  named(
    'hand_over',
    `
update ${queue} f set f.executor = cast(? as signed)
where f.id = cast(? as signed) and f.reserva = ? and f.status = 'processando' and f.executor = cast(? as signed)
  and f.cancelada_por is null`,
  );

/**
 * Lets attempts wait that are not to run now and whose rows are locked, as they are: with their number, until a time. Those that were
 * cancelled meanwhile end. Parameters: failures, with the time as that of their next attempt.
 */
export const snooze = ({ queue }: Pick<QueueTables, 'queue'>): string =>
  named(
    'snooze',
    `
update ${failureRows}
${byKey(queue)}
set f.finalizada_em = if(f.cancelada_por is null, null, ${now}), f.executor = null,
  f.iniciada_em = if(f.cancelada_por is null, null, f.iniciada_em),
  f.mensagem = if(f.cancelada_por is null, left(x.message, ${columnLength.message}), f.mensagem),
  f.data_hora = case
    when f.cancelada_por is not null then f.data_hora
    when x.at is not null then cast(x.at as datetime(6))
    else ${after(delayMs, since)}
  end,
  f.status = if(f.cancelada_por is null, 'agendada', 'falha')`,
  );

/** What became of them. Parameters: ids. */
export const readSnoozed = ({ queue }: Pick<QueueTables, 'queue'>): string =>
  named(
    'read_snoozed',
    `
select f.id, ${msBetween(now, 'f.data_hora')} as next_ms, f.cancelada_por,
  case when f.cancelada_por is not null then f.mensagem end as mensagem
from ${idRows}
${byKey(queue)}`,
  );

/** Writes messages of attempts that run and whose rows are locked, but for those that were cancelled. Parameters: failures. */
export const noteProgress = ({ queue }: Pick<QueueTables, 'queue'>): string =>
  named(
    'note_progress',
    `
update ${failureRows}
${byKey(queue)}
set f.mensagem = if(f.cancelada_por is null, left(x.message, ${columnLength.message}), f.mensagem)`,
  );
