import { afterAll, beforeAll } from 'vitest';
import { assembleCore, type QueueCore } from '../../../lib/assembly/core.js';
import { testAccess } from '../../../lib/assembly/test-access.js';
import { QueueEvents } from '../../../lib/events.js';
import { resolveOptions } from '../../../lib/assembly/resolve-options.js';
import type { QueueOptions } from '../../../lib/options/queue-options.js';
import { SharedSessions } from '../../../lib/storage/postgres/connections/shared-sessions.js';
import { createDatabase, type TestDatabase } from '../../support/database.js';
import type { OpenDatabase } from './opened.js';

/** Makes a PostgreSQL database for the file, whose tables are emptied for each test. */
export function usePostgres(layout: Pick<QueueOptions, 'layout'> = {}): OpenDatabase {
  let server: TestDatabase;
  let core: QueueCore;

  beforeAll(async () => {
    server = await createDatabase();
    await server.pool.query('create table effect (n int)');
    const options = { connection: server.url, queue: 'tasks', webhooks: true, ...layout };
    core = await assembleCore(resolveOptions(options, {}), new QueueEvents(), new SharedSessions());
  });
  afterAll(async () => {
    await core?.close();
    await server?.drop();
  });

  return async () => {
    const { queue, workers, paused, subscriptions, webhooks } = core.schema.tables;
    // The few rows of a test are deleted sooner than the files of many partitions are made anew.
    const all = [queue, workers, paused, subscriptions, webhooks, 'effect'];
    await server.pool.query(all.map((table) => `delete from ${table}`).join('; '));
    return {
      database: core.database,
      access: testAccess(core),
      undoes: true,
      inTransaction: (work) => core.database.inTransaction(work),
      effects: async () => {
        const { rows } = await server.pool.query<{ n: number }>('select count(*)::int as n from effect');
        return rows[0]?.n ?? 0;
      },
      pause: async (route) => {
        await server.pool.query(`insert into ${paused} (route) values ($1)`, [route]);
      },
      halt: async () => {
        await server.pool.query(`update ${workers} set halt_at = now()`);
      },
    };
  };
}
