import { statement, quietSetting } from '../statement.js';
import { lacksDeadTask, lacksNextAttempt } from './check.js';
import { nextAttempts } from './fail.js';

/** Which of some attempts that have ended lack what must follow them. Parameters: ids. */
export const findUnfollowed = statement(
  'find_unfollowed',
  ({ queue }) => `
select 'no-next-attempt' as kind, f.id from ${queue} f where f.id = any($1::bigint[]) and ${lacksNextAttempt(queue)}
union all
select 'no-dead-task', f.id from ${queue} f where f.id = any($1::bigint[]) and ${lacksDeadTask(queue)}`,
);

/**
 * Locks those of some attempts whose next ones are not due yet, but for those that another session has locked. What was due may
 * have run, and its row been deleted since; so may what an operator has retried, which was due at once. Parameters: ids.
 */
export const lockUnfollowed = statement(
  'lock_unfollowed',
  ({ queue }) => `
select f.id from ${queue} f
where f.id = any($1::bigint[]) and f.reenfileirado and f.status = 'falha' and f.proxima_tentativa > clock_timestamp()
order by f.id
for no key update of f skip locked`,
);

/**
 * Inserts the next attempts that are missing, as when the attempts failed. A statement of its own, because only one that begins
 * after the locks are held is certain to see what another worker has inserted. Parameters: locked ids.
 */
export const insertUnfollowed = statement(
  'insert_unfollowed',
  ({ queue }) => `
with ${quietSetting(queue)}
${nextAttempts(queue, `(select * from ${queue} where id = any($1::bigint[])) f, quiet`, 'f.perdas')}`,
);
