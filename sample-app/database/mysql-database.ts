import { createPool, type Pool, type RowDataPacket } from 'mysql2/promise';
import { fromMysql2, type SqlHandle } from '../../lib/index.js';
import { Database } from './database.js';
import { mysqlSql } from './mysql-sql.js';

class MysqlDatabase extends Database {
  readonly sql = mysqlSql;

  constructor(private readonly pool: Pool) {
    super();
  }

  async query(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    const [rows] = await this.pool.query<RowDataPacket[]>(text, values);
    return rows;
  }

  async transaction<Result>(work: (tx: SqlHandle) => Promise<Result>): Promise<Result> {
    const connection = await this.pool.getConnection();
    try {
      await connection.beginTransaction();
      const result = await work(fromMysql2(connection));
      await connection.commit();
      connection.release();
      return result;
    } catch (error) {
      const rollback = await connection.rollback().catch((lost: Error) => lost);
      // A connection that cannot even roll back is not used again.
      if (rollback instanceof Error) connection.destroy();
      else connection.release();
      throw error;
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.pool.end();
  }
}

/** Connects to MySQL or MariaDB. */
export function openMysql(uri: string): Database {
  const pool = createPool({ uri, timezone: 'Z', multipleStatements: true });
  // The deliveries of an order are one text, which is cut off at this length; the pool's callers wait for it.
  pool.on('connection', (connection) => connection.query('set session group_concat_max_len = 1048576'));
  return new MysqlDatabase(pool);
}
