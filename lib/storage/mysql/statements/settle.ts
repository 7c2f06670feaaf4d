import type { Completion, WorkerId } from '../../attempt.js';
import { idNumbers } from '../administration/id-list.js';
import type { Part } from '../claims/one-text.js';
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

/**
 * Completes attempts that a worker still holds. By a list of their ids: where an update joins, MariaDB first notes which rows it
 * will change, which takes half as long as changing them.
 *
 * @param atOnce for attempts that are not locked yet: it fails when another session has locked one, which only MariaDB can
 */
export function settle(
  { queue }: QueueTables,
  completions: readonly Completion[],
  workerId: WorkerId,
  atOnce: boolean,
): Part {
  const message = ofEach(completions, (one) => one.message);
  const result = ofEach(completions, (one) => one.result);
  const reservation = ofEach(completions, (one) => one.reservation);
  const text = named(
    'settle',
    `${atOnce ? 'set statement innodb_lock_wait_timeout = 0 for' : ''}
update ${queue} f force index (primary)
set f.status = 'sucesso', f.mensagem = ${message.text}, f.resultado = ${result.text}, f.finalizada_em = ${now}
where f.id in (${idNumbers(completions.map(({ id }) => id))})
  and f.status = 'processando' and f.executor = ? and f.reserva = ${reservation.text}`,
  );
  return { text, values: [...message.values, ...result.values, workerId, ...reservation.values] };
}

/** A value of each attempt; one for all of them where they have the same, as most have. */
function ofEach(
  completions: readonly Completion[],
  valueOf: (one: Completion) => unknown,
): { readonly text: string; readonly values: readonly unknown[] } {
  const values = completions.map(valueOf);
  if (values.every((value) => value === values[0])) return { text: '?', values: values.slice(0, 1) };
  const cases = completions.map(({ id }) => `when ${idNumbers([id])} then ?`);
  return { text: `case f.id ${cases.join(' ')} end`, values };
}
