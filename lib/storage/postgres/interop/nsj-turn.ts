import type { SqlHandle } from '../../sql-handle.js';
import { TarefaError } from '../../../errors.js';
import type { QueueTables } from '../identifiers.js';
import { describeSession } from '../migration/lock-holders.js';
import type { RunTransaction } from '../partitions/short-transaction.js';
import { nsjNotifyLock } from '../statements/nsj-locks.js';

/** How long a change waits for the notify job of nsj-queue-lib. */
const waitMs = 5_000;
const lockNotAvailable = '55P03';

/**
 * Changes a task that may be scheduled beside workers of nsj-queue-lib. Their notify job sets what it has listed to
 * pending by id alone, so a task that was cancelled meanwhile would run, and one that was started would run again. The
 * change holds the lock of that job; a task that is not scheduled does without.
 *
 * @param run runs work in a transaction
 * @param handle any other connection: the transaction has failed when it is asked
 * @param id of any attempt; undefined for many tasks, some of which may be scheduled
 * @throws {TarefaError} `QUEUE_BUSY` when the job holds its lock for longer than 5 s
 */
export async function changeInTurn<T>(
  run: RunTransaction,
  handle: SqlHandle,
  tables: QueueTables,
  id: string | undefined,
  change: (sql: SqlHandle) => Promise<T>,
): Promise<T> {
  try {
    return await run(async (tx) => {
      if (id === undefined || (await isScheduled(tx, tables, id))) await takeTurn(tx);
      return change(tx);
    });
  } catch (error) {
    if ((error as { code?: unknown } | null)?.code !== lockNotAvailable) throw error;
    const holder = await describeHolder(handle).catch(() => 'a session that cannot be seen');
    throw new TarefaError(
      'QUEUE_BUSY',
      `${id === undefined ? 'no task' : `task ${id}`} was ${id === undefined ? '' : 'not '}changed: the notify job of nsj-queue-lib may be about to start scheduled tasks, and its lock, which is also that of task ${nsjNotifyLock}, is held by ${holder}. Try again in a moment`,
      { cause: error },
    );
  }
}

async function isScheduled(tx: SqlHandle, { queue }: QueueTables, id: string): Promise<boolean> {
  const { rows } = await tx.query(
    `-- name: is_scheduled
select exists (
  select from ${queue} a, ${queue} f
  where a.id = $1::text::bigint and f.status = 'agendada'
    and (f.id = coalesce(a.id_inicial, a.id) or f.id_inicial = coalesce(a.id_inicial, a.id))
) as scheduled`,
    [id],
  );
  return rows[0]?.['scheduled'] === true;
}

/** The setting of before is back for the change itself. */
async function takeTurn(tx: SqlHandle): Promise<void> {
  const { rows } = await tx.query(`select current_setting('lock_timeout') as before`);
  await tx.query(`select set_config('lock_timeout', $1::text, true)`, [`${waitMs}ms`]);
  await tx.query(`select pg_advisory_xact_lock(${nsjNotifyLock})`);
  await tx.query(`select set_config('lock_timeout', $1::text, true)`, [rows[0]?.['before']]);
}

async function describeHolder(sql: SqlHandle): Promise<string> {
  const { rows } = await sql.query(
    `select l.pid from pg_locks l
     where l.locktype = 'advisory' and l.granted and l.classid = 0 and l.objid = ${nsjNotifyLock} and l.objsubid = 1
       and l.database = (select d.oid from pg_database d where d.datname = current_database())`,
  );
  const pid = rows[0]?.['pid'];
  return typeof pid === 'number' ? describeSession(sql, pid) : 'a session that has just given it back';
}
