import type { QueueTables } from '../identifiers.js';
import { now } from '../sql-time.js';
import { named } from '../statement.js';
import { lacksDeadTask, lacksNextAttempt } from './check.js';
import { byKey, idRows } from './held.js';

type Queue = Pick<QueueTables, 'queue'>;

/** Which of some attempts that have ended lack what must follow them. Parameters: ids, twice. */
export const findUnfollowed = ({ queue }: Queue): string =>
  named(
    'find_unfollowed',
    `
select 'no-next-attempt' as kind, f.id
from ${idRows}
${byKey(queue)}${lacksNextAttempt(queue)}
union all
select 'no-dead-task', f.id
from ${idRows}
${byKey(queue)}${lacksDeadTask(queue)}`,
  );

/**
 * Locks those of some attempts whose next ones are not due yet, but for those that another session has locked; returns the workers
 * that each has lost in a row. What was due may have run, and its row been deleted since; so may what an operator has retried,
 * which was due at once. Parameters: ids.
 */
export const lockUnfollowed = ({ queue }: Queue): string =>
  named(
    'lock_unfollowed',
    `
select f.id, f.perdas
from (select * from ${idRows}) x
${byKey(queue)}
where f.reenfileirado and f.status = 'falha' and f.proxima_tentativa > ${now}
for update skip locked`,
  );
