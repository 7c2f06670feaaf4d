import { Client, type ClientConfig } from 'pg';
import { ownTypes } from './own-pool.js';

/** How long connecting and answering may take each. */
const lookMs = 10_000;

/**
 * Parameters: process id of a backend. One that waits for its client has nothing to do; one of which the server does not tell
 * (`track_activities` is off, or this role may not see it) counts as at work.
 */
const atWork = `-- name: is_at_work
select from pg_stat_activity
where pid = $1::int and coalesce(state, '') not like 'idle%' and wait_event_type is distinct from 'Client'`;

/** The code of a server, or a role, that has no connection left. */
const tooMany = '53300';

/** Asks over a connection of its own whether a backend is at work on a statement. */
export async function isAtWork(config: ClientConfig, processId: number | null): Promise<boolean> {
  const client = new Client({
    ...config,
    application_name: 'tarefa look',
    connectionTimeoutMillis: lookMs,
    query_timeout: lookMs,
    types: ownTypes,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rowCount } = await client.query(atWork, [processId]);
    void client.end().catch(() => undefined);
    return rowCount === 1;
  } catch (error) {
    client.connection.stream.destroy();
    // It lives, and is asked again later.
    if ((error as { readonly code?: unknown }).code === tooMany) return true;
    throw error;
  }
}
