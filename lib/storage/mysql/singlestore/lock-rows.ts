import { randomUUID } from 'node:crypto';
import { leaseMs } from '../../workers.js';
import type { QueueTables } from '../identifiers.js';
import type { MysqlAccess } from '../mysql-access.js';
import { after, now } from '../sql-time.js';
import { named } from '../statement.js';

// Names that are held by rows, where the server has no locks of its own.

type Locks = Pick<QueueTables, 'locks'>;

/** Makes the row of a name that nobody holds yet. Parameters: name. */
const makeLock = ({ locks }: Locks): string =>
  named('make_lock', `insert ignore into ${locks} (name) values (?)`);

/**
 * Takes a name, or keeps it, for some time. Held for longer than that it is when the clock was set back. Parameters: holder,
 * milliseconds, name, milliseconds, holder.
 */
const takeLock = ({ locks }: Locks): string =>
  named(
    'take_lock',
    `
update ${locks} l
set l.holder = ?, l.held_until = ${after('?')}
where l.name = ? and (l.held_until is null or l.held_until <= ${now} or l.held_until > ${after('?')} or l.holder = ?)`,
  );

/** Parameters: name, holder. */
const leaveLock = ({ locks }: Locks): string =>
  named(
    'leave_lock',
    `update ${locks} l set l.holder = null, l.held_until = null where l.name = ? and l.holder = ?`,
  );

/** Whether there is such a name for others than the transaction that has left it: then that was committed. Parameters: name. */
export const findLock = ({ locks }: Locks): string =>
  named('find_lock', `select l.name from ${locks} l where l.name = ?`);

/** Parameters: name. */
export const forgetLock = ({ locks }: Locks): string =>
  named('forget_lock', `delete from ${locks} where name = ?`);

/** How often a lease is renewed while work goes on. */
const renewMs = leaseMs / 4;

/**
 * Runs work that only one process does at a time, by a lease on the row of its name; returns undefined where another process has
 * it. A process that is killed keeps it until it runs out.
 */
export async function runByLease<T>(
  { own, tables }: MysqlAccess,
  name: string,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const holder = randomUUID();
  await own.query(makeLock(tables), [name]);
  const take = async (): Promise<boolean> => {
    const { changed } = await own.query(takeLock(tables), [holder, leaseMs, name, leaseMs, holder]);
    return changed === 1;
  };
  if (!(await take())) return undefined;
  // What is not renewed in time may be done twice, as after any lost lock: routines are guarded row by row.
  let renewal: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    renewal = take().catch(() => undefined);
  }, renewMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    // One that arrives behind would take the name again.
    await renewal;
    await own.query(leaveLock(tables), [name, holder]).catch(() => undefined);
  }
}
