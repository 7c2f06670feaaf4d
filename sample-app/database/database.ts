import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Pool, type PoolClient, type QueryResultRow } from 'pg';
import { startEmbeddedPostgres } from '../../lib/index.js';
import { settings } from '../settings.js';
import { createTables } from './tables.js';

const logger = new Logger('Database');

/** The shop's own connections, as any application has them; the queue opens its own to the same database. */
export class Database implements OnApplicationShutdown {
  constructor(
    private readonly pool: Pool,
    private readonly stopServer: () => Promise<void>,
  ) {}

  async query<Row extends QueryResultRow>(sql: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.pool.query<Row>(sql, values)).rows;
  }

  /** Commits what `work` did, or leaves no trace of it. */
  async transaction<Result>(work: (tx: PoolClient) => Promise<Result>): Promise<Result> {
    const tx = await this.pool.connect();
    try {
      await tx.query('begin');
      const result = await work(tx);
      await tx.query('commit');
      tx.release();
      return result;
    } catch (error) {
      const rollback = await tx.query('rollback').catch((lost: Error) => lost);
      // A connection that cannot even roll back is not used again.
      tx.release(rollback instanceof Error);
      throw error;
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.pool.end();
    await this.stopServer();
  }
}

/** Connects to `DATABASE_URL`, or to the same embedded PostgreSQL as the queue: who leaves last stops it. */
export async function openDatabase(): Promise<Database> {
  const server =
    settings.databaseUrl === undefined
      ? await startEmbeddedPostgres({
          dataDir: settings.embeddedDataDir,
          log: (line) => logger.log(line),
        })
      : undefined;
  const pool = new Pool({
    connectionString: settings.databaseUrl ?? server?.url,
    connectionTimeoutMillis: 10_000,
  });
  // Whoever uses a connection is told of its loss as well; an error that nobody listens to would end the process.
  const warn = (error: Error): void => logger.warn(`a connection was lost: ${error.message}`);
  pool.on('error', warn).on('connect', (client) => client.on('error', warn));
  await pool.query(createTables);
  return new Database(pool, async () => server?.stop());
}
