import { DatabaseError, Pool, type PoolClient } from 'pg';
import { QueueClient } from '../../../../lib/index.js';
import type { ClientOptions, ClientPool, QueueConnection, WorkGround } from './clients.js';

/** The workload on PostgreSQL. */
export const postgresWork: WorkGround = {
  openClients: ({ url, max, connectMs, answerMs, name }: ClientOptions) => {
    const pool = new Pool({
      connectionString: url,
      max,
      connectionTimeoutMillis: connectMs,
      ...(answerMs === undefined ? {} : { query_timeout: answerMs }),
      ...(name === undefined ? {} : { application_name: name }),
    });
    return postgresClients(pool);
  },
  writeEffect: async (db, { root, attempt, dead, key, worker }) => {
    const { rows } = await db.query(
      `insert into effect (task_root, attempt, dead, key, worker) values ($1::bigint, $2, $3, $4, $5)
       returning backend::text || ' ' || (select backend_start::text from pg_stat_get_activity(backend)) as backend,
         xid::text, app`,
      [root, attempt, dead, key, worker],
    );
    return rows[0] as unknown as { backend: string; xid: string; app: string };
  },
};

/** Clients of a pool, which they end. */
export function postgresClients(pool: Pool): ClientPool {
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return {
    connect: async () => asConnection(await pool.connect()),
    isRefusal: (error) => error instanceof DatabaseError && error.severity === 'ERROR',
    end: () => pool.end(),
  };
}

function asConnection(client: PoolClient): QueueConnection {
  return {
    queue: new QueueClient(client, { table: 'tasks' }),
    query: (text, values) => client.query<Record<string, unknown>>(text, values),
    release: (error) => client.release(error),
  };
}
