import type { Connection } from 'mysql2';
import type { Answer } from './answers.js';
import { sessions } from '../statement.js';
import type { Run } from './transactions.js';

/**
 * Where servers see the clients of open connections: address and port. The number of a session says little: behind a proxy the next
 * connection may lead to another server of a cluster, or to one that was started anew, where it is the number of another's session.
 */
const places = new WeakMap<object, string>();

/** Parameter: the number of this session as the driver was told it. Behind some proxies that is not the server's. */
export const ownPlace = `-- name: own_place
select host as place from ${sessions} where id = connection_id() and id = ?`;

/** Parameters: a session's number, its place. */
const sessionAt = `-- name: session_at
select 1 as found from ${sessions} where id = ? and host = ?`;

/** @param answer to {@link ownPlace} */
export function notePlace(connection: object, answer: Answer | undefined): void {
  const place = answer?.rows[0]?.['place'];
  if (place != null) places.set(connection, place);
}

/**
 * Ends a session whose client was cut off: a server that is at work on a statement does not notice that, and keeps its locks. Rejects
 * where that fails.
 *
 * @param run sends statements on another connection
 */
export async function endSession(connection: Pick<Connection, 'threadId'>, run: Run): Promise<void> {
  const [place, { threadId }] = [places.get(connection), connection];
  if (place === undefined) return;
  const [answer] = await run(sessionAt, [threadId, place]);
  if (answer?.rows.length === 1) await run(`kill ${threadId}`);
}
