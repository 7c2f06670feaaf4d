import { afterAll, beforeAll } from 'vitest';
import { assembleCore, type QueueCore } from '../../../lib/assembly/core.js';
import { PostgresStorage } from '../../../lib/assembly/postgres.js';
import { QueueEvents } from '../../../lib/events.js';
import { resolveOptions } from '../../../lib/assembly/resolve-options.js';
import type { QueueOptions } from '../../../lib/options/queue-options.js';
import { createDatabase, type TestDatabase } from '../../support/database.js';
import { storedTimes, type OpenDatabase } from './opened.js';

/**
 * Makes a PostgreSQL database for the file, whose tables are emptied for each test.
 *
 * @param settings that its sessions begin with
 */
export function usePostgres(
  layout: Pick<QueueOptions, 'layout'> = {},
  settings: Readonly<Record<string, string>> = {},
): OpenDatabase {
  let server: TestDatabase;
  let core: QueueCore;

  beforeAll(async () => {
    server = await createDatabase();
    await server.pool.query('create table effect (n int)');
    const name = new URL(server.url).pathname.slice(1);
    for (const [key, value] of Object.entries(settings)) {
      await server.pool.query(`alter database ${name} set ${key} = '${value}'`);
    }
    const options = { connection: server.url, queue: 'tasks', webhooks: true, ...layout };
    core = await assembleCore(resolveOptions(options, {}), new QueueEvents());
  });
  afterAll(async () => {
    await core?.close();
    await server?.drop();
  });

  return async () => {
    const { queue, workers, paused, schedules, subscriptions, webhooks } = postgresOf(core).schema.tables;
    // The few rows of a test are deleted sooner than the files of many partitions are made again.
    const all = [queue, workers, paused, schedules, subscriptions, webhooks, 'effect'];
    await server.pool.query(all.map((table) => `delete from ${table}`).join('; '));
    return {
      database: core.database,
      access: core.testAccess(),
      inTransaction: (work) => postgresOf(core).database.inTransaction(work),
      effects: async () => {
        const { rows } = await server.pool.query<{ n: number }>('select count(*)::int as n from effect');
        return rows[0]?.n ?? 0;
      },
      pause: async (route) => {
        await server.pool.query(`insert into ${paused} (route) values ($1)`, [route]);
      },
      // As after a copy: the next ids are taken. The only unique index of partitions.
      refuseInserts: async () => {
        await server.pool.query(
          `insert into ${queue} (id, processo, status)
           select last_value + n, 'taken', 'sucesso' from tasks_id_seq, generate_series(1, 100) n`,
        );
        return async () => void (await server.pool.query(`delete from ${queue} where processo = 'taken'`));
      },
      erase: async (id) => {
        await server.pool.query(`delete from ${queue} where id = $1`, [id]);
      },
      halt: async () => {
        await server.pool.query(`update ${workers} set halt_at = now()`);
      },
      setClockBack: async (ms) => {
        const later = (column: string): string => `${column} = ${column} + ${ms} * interval '1 millisecond'`;
        for (const [table, columns] of [
          [workers, storedTimes.workers],
          [webhooks, storedTimes.webhooks],
        ] as const) {
          await server.pool.query(`update ${table} set ${columns.map(later).join(', ')}`);
        }
      },
    };
  };
}

/** What a core has opened, where it is PostgreSQL. */
export function postgresOf({ storage }: QueueCore): PostgresStorage {
  if (!(storage instanceof PostgresStorage)) throw new Error('that queue is not in PostgreSQL');
  return storage;
}
