import type { Client, Pool } from 'pg';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { connectTo, createDatabase, type TestDatabase } from '../support/database.js';
import { startApp, type QueueApp, type QueueAppOptions } from '../support/queue-app.js';
import { until } from '../support/waiting.js';

/** A row of the queue table as `pg` reads it. */
export interface AttemptRow {
  readonly id: string;
  readonly status: string;
  readonly tentativa: number;
  readonly mensagem: string | null;
  readonly [column: string]: unknown;
}

/** The queue `tasks` of a test file, and what its tests ask of it. */
export interface QueueBench {
  readonly database: TestDatabase;
  readonly pool: Pool;
  /** Starts an application that is closed after the test. */
  start(options?: QueueAppOptions): Promise<QueueApp>;
  /** A connection of its own, closed after the test whatever it still holds. */
  connect(): Promise<Client>;
  /** That attempt's row. */
  row(id: string): Promise<AttemptRow>;
  /** That attempt's status. */
  statusOf(id: string): Promise<string>;
  /** All attempts of a task, its dead chain included, oldest first. */
  chain(id: string): Promise<AttemptRow[]>;
  /** That attempt's row, once it has ended. */
  ended(id: string): Promise<AttemptRow>;
  /** All attempts of a task, once there are so many that have ended. */
  endedChain(id: string, attempts: number): Promise<AttemptRow[]>;
}

/**
 * Makes a database for the file; after each test its applications are closed and its tasks forgotten. Fails the
 * file when Node has to warn of something: leaked listeners, deprecated calls.
 *
 * @param emptied tables that are emptied together with the tasks
 */
export function useQueue(...emptied: readonly string[]): QueueBench {
  let database: TestDatabase;
  const apps: QueueApp[] = [];
  const clients: Client[] = [];

  const warnings: Error[] = [];
  const warned = (warning: Error): void => void warnings.push(warning);

  beforeAll(async () => {
    process.on('warning', warned);
    database = await createDatabase();
  });
  afterEach(async () => {
    await Promise.all(clients.splice(0).map((client) => client.end()));
    await Promise.all(apps.splice(0).map((app) => app.close()));
    await database.pool.query(`truncate ${['tasks', 'tasks_subscriber', ...emptied].join(', ')}`);
  });
  afterAll(async () => {
    process.off('warning', warned);
    await database.drop();
    if (warnings.length > 0) throw new AggregateError(warnings, String(warnings[0]));
  });

  const query = async (where: string, id: string): Promise<AttemptRow[]> => {
    const { rows } = await database.pool.query<AttemptRow>(`select * from tasks where ${where} order by id`, [
      id,
    ]);
    return rows;
  };
  const row = async (id: string): Promise<AttemptRow> => {
    const [found] = await query('id = $1', id);
    if (!found) throw new Error(`there is no attempt ${id}`);
    return found;
  };
  const chain = (id: string): Promise<AttemptRow[]> =>
    query('$1 in (id, id_inicial, live_id) or id_inicial in (select id from tasks where live_id = $1)', id);
  const hasEnded = ({ status }: AttemptRow): boolean => status === 'sucesso' || status === 'falha';

  return {
    get database() {
      return database;
    },
    get pool() {
      return database.pool;
    },
    start: async (options) => {
      const app = await startApp(database, options);
      apps.push(app);
      return app;
    },
    connect: async () => {
      const client = await connectTo(database);
      clients.push(client);
      return client;
    },
    row,
    statusOf: async (id) => (await row(id)).status,
    chain,
    ended: (id) =>
      until(async () => {
        const found = await row(id);
        return hasEnded(found) && found;
      }, `the end of attempt ${id}`),
    endedChain: (id, attempts) =>
      until(async () => {
        const found = await chain(id);
        return found.filter(hasEnded).length >= attempts && found;
      }, `${attempts} ended attempts of ${id}`),
  };
}
