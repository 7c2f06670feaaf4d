import type { Connection } from 'mysql2';
import type { ServerSession } from '../../transactions.js';
import { sessions } from '../statement.js';
import type { Run } from './transactions.js';

/**
 * Where servers see the clients of open connections: address and port. The number of a session says little: behind a proxy the next
 * connection may lead to another server of a cluster, or to one that was started again, where it is the number of another's session.
 */
const places = new WeakMap<object, string>();
/** Those of connections that still ask. */
const asked = new WeakMap<object, Promise<void>>();

/** Where MySQL's own table of sessions is switched off, and so empty, the older one is asked. */
const placeWhere = (condition: string): string => `select host as place from ${sessions} where ${condition}
/*!80022 union all select host from information_schema.processlist where not @@performance_schema and ${condition} */`;

/**
 * Asks a new connection for its place, behind what sets it up. Where that fails, its session is not ended by others. Nor is one of
 * which the driver was told another number than the server's, as behind some proxies.
 *
 * @param run sends statements on this connection
 */
export function notePlace(connection: Pick<Connection, 'threadId'>, run: Run): void {
  const text = `-- name: own_place\n${placeWhere(`id = connection_id() and id = ${connection.threadId}`)}`;
  const answered = run(text).then(
    ([answer]) => {
      const place = answer?.rows[0]?.['place'];
      if (place != null) places.set(connection, place);
    },
    () => undefined,
  );
  asked.set(connection, answered);
}

/** The session of a connection, once its place is known; undefined where the server does not tell. */
export async function sessionOf(
  connection: Pick<Connection, 'threadId'>,
): Promise<ServerSession | undefined> {
  await asked.get(connection);
  return knownSession(connection);
}

/**
 * Ends a session whose client was cut off: a server that is at work on a statement does not notice that, and keeps its locks. Rejects
 * where that fails.
 *
 * @param run sends statements on another connection
 */
export async function endSession(connection: Pick<Connection, 'threadId'>, run: Run): Promise<void> {
  const session = knownSession(connection);
  if (session) await killSession(session, run);
}

/** Ends a session of any process, if the server still has it at that place. */
export async function killSession({ id, mark }: ServerSession, run: Run): Promise<void> {
  const [answer] = await run(`-- name: session_at\n${placeWhere(`id = ${id}`)}`);
  if (answer?.rows[0]?.['place'] === mark) await run(`kill ${id}`);
}

function knownSession(connection: Pick<Connection, 'threadId'>): ServerSession | undefined {
  const [mark, { threadId: id }] = [places.get(connection), connection];
  return mark === undefined || id == null ? undefined : { id, mark };
}
