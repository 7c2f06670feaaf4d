import type { QueueTables } from '../identifiers.js';
import { now } from '../sql-time.js';
import { named } from '../statement.js';

/**
 * Locks the attempts of completions, but for those that are lost or that another session has locked: they are settled next time.
 * JSON is read within a query of its own: where rows are locked, MySQL takes no function for a table.
 *
 * Parameters: pairs of id and reservation, as JSON; worker.
 */
export const lockEnded = ({ queue }: QueueTables): string =>
  named(
    'lock_ended',
    `
select f.id, f.reserva
from (
  select * from json_table(?, '$[*]' columns (id bigint path '$[0]', reservation int path '$[1]')) given limit 1000000
) s
straight_join ${queue} f force index (primary) on f.id = s.id
where f.status = 'processando' and f.executor = ? and f.reserva = s.reservation
for update skip locked`,
  );

/** Completes attempts that this transaction has locked. Parameter: arrays of id, message and result, as JSON. */
export const settle = ({ queue }: QueueTables): string =>
  named(
    'settle',
    `
update json_table(?, '$[*]' columns (
  id bigint path '$[0]', message longtext character set utf8mb4 path '$[1]', result longtext character set utf8mb4 path '$[2]'
)) s
straight_join ${queue} f force index (primary) on f.id = s.id
set f.status = 'sucesso', f.mensagem = s.message, f.resultado = s.result, f.finalizada_em = ${now}`,
  );
