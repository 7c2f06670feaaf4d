import type { ClientBase } from 'pg';
import type { ServerSession } from '../../transactions.js';
import type { SqlHandle } from '../../sql-handle.js';
import { type OwnPool, ownTypes } from './own-pool.js';
import { processIdOf } from './pooler.js';

/**
 * When the backends of open connections have started. A process id says little: by the time that a backend is to be ended, connections
 * may lead to another server, or to one that was started again, where another's backend has that id.
 */
const sessions = new WeakMap<object, Promise<ServerSession | undefined>>();

/** When a backend has started, as text that depends on no format or time zone of a session. */
const startText = `to_char(a.backend_start at time zone 'UTC', 'YYYYMMDDHH24MISSUS')`;

const ownBackend = `-- name: own_backend
select a.pid, ${startText} as started from pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid()) a`;

/** Parameters: process id of a backend, when it has started. */
const terminate = `-- name: terminate
select pg_catalog.pg_terminate_backend(a.pid) from pg_catalog.pg_stat_activity a
where a.pid = $1::int and ${startText} = $2::text and a.datname = current_database() and a.usename = current_user`;

/**
 * Asks a new connection for its backend, once. Undefined where that is not known, as behind a pooler, which makes process ids up.
 * Never rejects.
 */
export function noteBackend(client: ClientBase): Promise<ServerSession | undefined> {
  const known = sessions.get(client) ?? askBackend(client);
  sessions.set(client, known);
  return known;
}

/** The backend of a connection that was asked for it; undefined where that is not known. */
export async function backendOf(client: object): Promise<ServerSession | undefined> {
  return sessions.get(client);
}

async function askBackend(client: ClientBase): Promise<ServerSession | undefined> {
  try {
    const { rows } = await client.query<{ pid: number; started: string | null }>({
      text: ownBackend,
      types: ownTypes,
    });
    const [row] = rows;
    if (row?.started == null || row.pid !== processIdOf(client)) return undefined;
    return { id: row.pid, mark: row.started };
  } catch {
    // What the connection was opened for fails as well.
    return undefined;
  }
}

/**
 * Ends the work of a client that was cut off: a server that is at work on a statement does not notice that, and keeps its locks.
 *
 * @param pool by which it is told
 */
export function terminateBackend(client: object, pool: Pick<OwnPool, 'query'>): void {
  void backendOf(client).then((session) => session && endBackend(session, pool));
}

/** Never rejects. */
export async function endBackend(
  { id, mark }: ServerSession,
  handle: Pick<SqlHandle, 'query'>,
): Promise<void> {
  await handle.query(terminate, [id, mark]).catch(() => undefined);
}
