import type { QueueTables } from '../identifiers.js';
import { now } from '../sql-time.js';
import { named } from '../statement.js';

/**
 * Completes one attempt inside a transaction, unless it is no longer this worker's. A row that it finds it also changes, so that
 * drivers that count found rows and those that count changed ones say the same. Parameters: message, result, id, reservation, worker.
 */
export const complete = ({ queue }: Pick<QueueTables, 'queue'>, name = 'complete'): string =>
  named(
    name,
    `
update ${queue} f
set f.status = 'sucesso', f.mensagem = ?, f.resultado = ?, f.finalizada_em = ${now}
where f.id = cast(? as signed) and f.reserva = cast(? as signed) and f.status = 'processando'
  and f.executor = cast(? as signed)`,
  );

/** How many rows the last statement of the session has changed. */
export const changedRows = named('changed_rows', 'select cast(row_count() as char) as changed');

/** What a transaction sees of an attempt, and as whom: one row, whether it sees it or not. Parameters: id. */
export const seen = ({ queue }: Pick<QueueTables, 'queue'>): string =>
  named(
    'seen_in',
    `
select current_user() as who, f.status, cast(f.executor as char) as executor, f.reserva
from (select 1 as one) x left join ${queue} f on f.id = cast(? as signed)`,
  );
