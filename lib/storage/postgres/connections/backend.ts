import type { ClientBase } from 'pg';
import type { OwnPool } from './own-pool.js';
import { ownTypes } from './own-types.js';
import { processIdOf } from './pooler.js';

/**
 * When the backends of open connections have started. A process id says little: by the time that a backend is to be ended, connections
 * may lead to another server, or to one that was started anew, where another's backend has that id.
 */
const starts = new WeakMap<object, string>();
const asked = new WeakSet<object>();

/** The same whatever formats and time zone a session has. */
const startText = `to_char(a.backend_start at time zone 'UTC', 'YYYYMMDDHH24MISSUS')`;

const ownBackend = `-- name: own_backend
select a.pid, ${startText} as started from pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid()) a`;

/** Parameters: process id of a backend, when it has started. */
const terminate = `-- name: terminate
select pg_catalog.pg_terminate_backend(a.pid) from pg_catalog.pg_stat_activity a
where a.pid = $1::int and ${startText} = $2::text and a.datname = current_database() and a.usename = current_user`;

/** Asks a new connection when its backend has started, once. What is not known behind a pooler, which makes process ids up, stays so. */
export async function noteBackend(client: ClientBase): Promise<void> {
  if (asked.has(client)) return;
  asked.add(client);
  try {
    const { rows } = await client.query<{ pid: number; started: string | null }>({
      text: ownBackend,
      types: ownTypes,
    });
    const [row] = rows;
    if (row?.started != null && row.pid === processIdOf(client)) starts.set(client, row.started);
  } catch {
    // What the connection was opened for fails as well.
  }
}

/**
 * Ends the work of a client that was cut off: a server that is at work on a statement does not notice that, and keeps its locks.
 *
 * @param pool by which it is told
 */
export function terminateBackend(client: object, pool: Pick<OwnPool, 'query'>): void {
  const started = starts.get(client);
  if (started !== undefined) pool.query(terminate, [processIdOf(client), started]).catch(() => undefined);
}
