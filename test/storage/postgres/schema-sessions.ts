import type { Pool } from 'pg';
import {
  SchemaSession,
  type SchemaSessionOptions,
} from '../../../lib/storage/postgres/migration/schema-session.js';

/** Runs work in a session that changes tables, with short pauses, and closes it. */
export type WithSession = <T>(
  work: (session: SchemaSession) => Promise<T>,
  options?: SchemaSessionOptions,
) => Promise<T>;

export const sessionsOf =
  (pool: Pool): WithSession =>
  async (work, options) => {
    const session = await SchemaSession.open(pool, { pauseMs: 20, ...options });
    try {
      return await work(session);
    } finally {
      await session.close();
    }
  };

/** Ends a session's connection, as the death of its process does. */
export async function terminate(pool: Pool, session: SchemaSession): Promise<void> {
  const { rows } = await session.query('select pg_backend_pid() as pid');
  await pool.query('select pg_terminate_backend($1)', [rows[0]?.['pid']]);
}

/** What the queue `tasks` of a schema is called. */
export const namesIn = (schema: string) => ({
  table: { schema, table: 'tasks' },
  subscriptionTable: { schema, table: 'tasks_subscriber' },
  channel: 'tasks',
  webhooks: false,
});
