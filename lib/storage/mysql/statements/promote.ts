import type { QueueTables } from '../identifiers.js';
import { msBetween, now } from '../sql-time.js';
import { afterIsolatedPrefix, named } from '../statement.js';
import { isolatedPrefix } from '../../route.js';
import { byKey, idRows } from './held.js';

type Queue = Pick<QueueTables, 'queue'>;

/** Due scheduled attempts, the oldest first, without those that another session has locked. Parameters: limit. */
export const lockDue = ({ queue }: Queue): string =>
  named(
    'lock_due',
    `
select f.id, f.data_hora
from ${queue} f force index (scheduled)
where f.agendada_em <= ${now}
order by f.agendada_em, f.id
limit ?
for update skip locked`,
  );

/** Makes attempts pending whose rows are locked. Parameters: ids. */
export const promote = ({ queue }: Queue): string =>
  named('promote', `update ${idRows} ${byKey(queue)} set f.status = 'pendente'`);

/** SQL of the milliseconds until the next scheduled attempt is due, null without one. */
export const nextDueMs = (queue: string): string => `(
  select ${msBetween(now, 'f.agendada_em')}
  from ${queue} f force index (scheduled)
  where f.agendada_em is not null
  order by f.agendada_em, f.id
  limit 1)`;

/**
 * When the next scheduled attempt is due (a time in the past when another session has it locked), and whether attempts wait that
 * have to run alone.
 */
export const lookAtSchedule = ({ queue }: Queue): string =>
  named(
    'look_at_schedule',
    `
select ${nextDueMs(queue)} as next_due_ms,
  exists (
    select 1 from ${queue} f force index (ready)
    where f.rota_pronta >= '${isolatedPrefix}' and f.rota_pronta < '${afterIsolatedPrefix}'
  ) as isolated`,
  );
