import { Client, type ClientConfig } from 'pg';
import { connectionConfig, type Reach } from './connection-config.js';
import { ownTypes } from './own-pool.js';
import type { PostgresConnection } from '../../../options/postgres-connection.js';

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
