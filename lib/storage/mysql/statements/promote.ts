import type { QueueTables } from '../identifiers.js';
import { msBetween, now } from '../sql-time.js';
import { afterIsolatedPrefix, named } from '../statement.js';
import { isolatedPrefix } from '../../route.js';
import type { Part } from '../claims/one-text.js';
import { exceptApart, type LeftOut } from './apart.js';
import { byKey, idRows } from './held.js';

type Queue = Pick<QueueTables, 'queue'>;

/** Due scheduled attempts, the oldest first, but for those that are left out. */
function due({ queue }: Queue, name: string, leftOut: LeftOut, limit: number, locking: string): Part {
  const { text, values = [] } = exceptApart(leftOut);
  return {
    text: named(
      name,
      `
select f.id, f.data_hora
from ${queue} f force index (scheduled)
where f.agendada_em <= ${now}${text}
order by f.agendada_em, f.id
limit ?${locking}`,
    ),
    values: [...values, limit],
  };
}

/** Locks them, without those that another session has locked. */
export const lockDue = (tables: Queue, leftOut: LeftOut, limit: number): Part =>
  due(tables, 'lock_due', leftOut, limit, '\nfor update skip locked');

/** Looks at them. */
export const seeDue = (tables: Queue, leftOut: LeftOut, limit: number): Part =>
  due(tables, 'see_due', leftOut, limit, '');

/** Makes attempts pending whose rows are locked. Parameters: ids. */
export const promote = ({ queue }: Queue): string =>
  named('promote', `update ${idRows} ${byKey(queue)} set f.status = 'pendente'`);

/**
 * SQL of the milliseconds until the next scheduled attempt is due, null without one.
 *
 * @param except condition behind others
 */
export const nextDueMs = (queue: string, except = ''): string => `(
  select ${msBetween(now, 'f.agendada_em')}
  from ${queue} f force index (scheduled)
  where f.agendada_em is not null${except}
  order by f.agendada_em, f.id
  limit 1)`;

/**
 * When the next scheduled attempt is due (a time in the past when another session has it locked), and whether attempts wait that
 * have to run alone.
 */
export function lookAtSchedule({ queue }: Queue, leftOut: LeftOut): Part {
  const except = exceptApart(leftOut);
  const text = named(
    'look_at_schedule',
    `
select ${nextDueMs(queue, except.text)} as next_due_ms,
  exists (
    select 1 from ${queue} f force index (ready)
    where f.rota_pronta >= '${isolatedPrefix}' and f.rota_pronta < '${afterIsolatedPrefix}'
  ) as isolated`,
  );
  return { text, values: except.values ?? [] };
}
