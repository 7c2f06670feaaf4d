import { afterAll, beforeAll } from 'vitest';
import { assembleCore, type QueueCore } from '../../../lib/assembly/core.js';
import { resolveOptions } from '../../../lib/assembly/resolve-options.js';
import { QueueEvents } from '../../../lib/events.js';
import { useDatabase, type TestDatabase } from '../../support/database.js';
import type { OpenBells, OpenLiveness } from './opened.js';

/** Two processes of one queue in PostgreSQL, and one of another queue beside it. */
export interface PostgresQueues {
  readonly database: TestDatabase;
  readonly core: (index: number) => QueueCore;
  readonly openBells: OpenBells;
  readonly openSessions: OpenLiveness;
}

/** Makes them for the file. */
export async function usePostgresQueues(): Promise<PostgresQueues> {
  const database = await useDatabase();
  const cores: QueueCore[] = [];

  beforeAll(async () => {
    // As if each were a process of its own.
    for (const queue of ['tasks', 'tasks', 'others']) {
      const options = { connection: database.url, queue, recovery: { graceMs: 0 } };
      cores.push(await assembleCore(resolveOptions(options, {}), new QueueEvents()));
    }
  });
  afterAll(() => Promise.all(cores.map((core) => core.close())));

  const core = (index: number): QueueCore => cores[index] as QueueCore;
  return {
    database,
    core,
    openBells: async () => ({
      one: core(0).storage.bell,
      other: core(1).storage.bell,
      stranger: core(2).storage.bell,
    }),
    openSessions: async () => {
      await database.pool.query('truncate tasks_worker');
      const { workers } = core(0).database;
      return { one: core(0).storage.liveness(), other: core(1).storage.liveness(), workers };
    },
  };
}
