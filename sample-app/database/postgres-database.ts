import { Logger } from '@nestjs/common';
import { Pool } from 'pg';
import { startEmbeddedPostgres, type SqlHandle } from '../../lib/index.js';
import { settings } from '../settings.js';
import { Database } from './database.js';
import { postgresSql } from './postgres-sql.js';

const logger = new Logger('Database');

class PostgresDatabase extends Database {
  readonly sql = postgresSql;

  constructor(
    private readonly pool: Pool,
    private readonly stopServer: () => Promise<void>,
  ) {
    super();
  }

  async query(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    return (await this.pool.query<Record<string, unknown>>(text, values)).rows;
  }

  async transaction<Result>(work: (tx: SqlHandle) => Promise<Result>): Promise<Result> {
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
export async function openPostgres(): Promise<Database> {
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
  return new PostgresDatabase(pool, async () => server?.stop());
}
