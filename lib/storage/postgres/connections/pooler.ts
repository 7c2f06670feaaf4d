import { Client, type ClientConfig } from 'pg';
import { connectionConfig } from './connection-config.js';
import type { OwnQuery } from './own-pool.js';
import { ownTypes } from './own-types.js';
import type { PostgresConnection } from '../../../options/postgres-connection.js';
import type { Statement } from '../statement.js';

/**
 * What stands between us and a database. `direct`: nothing. `shared`: a pooler that hands one server connection to
 * several clients in turn, seen doing so. `pooled`: a pooler that was not seen doing so, and may all the same.
 */
export type Reach = 'direct' | 'pooled' | 'shared';

/**
 * A statement as `pg` takes it, prepared where names stay: not through a pooler, which hands out another server
 * connection each time. Written out because objects that begin with a spread cost 12 µs each on Node 20.
 */
export function asQuery({ name, text }: Statement, reach: Reach, values: readonly unknown[]): OwnQuery {
  return { name: reach === 'direct' ? name : undefined, text, values: [...values], types: ownTypes };
}

/** Other clients of a busy pooler may come between the two questions of one round. */
const rounds = 5;

/**
 * Finds out whether a connection goes through a pooler, and which kind: LISTEN, session locks and settings need
 * a server connection that stays ours. A pooler makes up the process id that it tells its clients.
 */
export async function inspectReach(connection: PostgresConnection): Promise<Reach> {
  const application_name = 'tarefa inspection';
  const config = { ...connectionConfig(connection), application_name, types: ownTypes };
  return withClient(config, async (one) => {
    if ((await backendOf(one)) === processIdOf(one)) return 'direct';
    return withClient(config, async (two) => ((await seenSharing(one, two)) ? 'shared' : 'pooled'));
  });
}

/** While one client is idle, does the other get its backend? */
async function seenSharing(one: Client, two: Client): Promise<boolean> {
  for (let round = 0; round < rounds; round += 1) {
    const before = await backendOf(one);
    await two.query('begin');
    const others = await backendOf(two);
    const after = await backendOf(one);
    await two.query('rollback');
    if (others === before || after !== before) return true;
  }
  return false;
}

async function backendOf(client: Client): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid;
}

/** The backend that a client was told it has. Not in the type of the client, though documented. */
export function processIdOf(client: object): number | null {
  return (client as { readonly processID: number | null }).processID;
}

async function withClient<T>(config: ClientConfig, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(config);
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
