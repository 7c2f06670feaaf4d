import type { QueryResult } from 'pg';
import type { FieldPacket, Pool, PoolConnection, QueryOptions, ResultSetHeader } from 'mysql2/promise';
import { asPgReads, withoutOwnColumns } from './mysql-rows.js';
import { speakMysql } from './spoken-sql.js';

type Row = Record<string, unknown>;

interface Session {
  query(options: QueryOptions): Promise<[unknown, FieldPacket[]]>;
}

/** What a test asks of the pool of `pg`, asked of a pool of `mysql2`. */
export interface SpeakingPool {
  query(text: string, values?: readonly unknown[]): Promise<Pick<QueryResult<Row>, 'rows' | 'rowCount'>>;
  connect(): Promise<SpeakingClient>;
}

/** The same of a client. */
export interface SpeakingClient extends Pick<SpeakingPool, 'query'> {
  /** Ends its connection, whatever it still holds. */
  end(): Promise<void>;
  release(): void;
  /** What the driver gives, for the library. */
  readonly raw: PoolConnection;
}

/** `||` joins text, `"` quotes names, and transactions see what others commit, as on PostgreSQL. */
const asPostgres = `set session sql_mode = concat(@@sql_mode, ',PIPES_AS_CONCAT,ANSI_QUOTES'), @@session.transaction_isolation = 'READ-COMMITTED'`;
const asPostgresMariadb = asPostgres.replace('transaction_isolation', 'tx_isolation');

/** Takes the tests' statements for PostgreSQL, and answers as `pg` does. */
export function speakingPool(pool: Pool, flavour: 'mariadb' | 'mysql'): SpeakingPool {
  // Sent before any statement of whoever takes the connection.
  pool.pool.on('connection', (connection) => {
    connection.query(flavour === 'mysql' ? asPostgres : asPostgresMariadb);
  });
  return {
    query: async (text, values) => {
      const connection = await pool.getConnection();
      try {
        return await ask(connection, text, values);
      } finally {
        connection.release();
      }
    },
    connect: async () => speakingClient(await pool.getConnection()),
  };
}

function speakingClient(connection: PoolConnection): SpeakingClient {
  return {
    query: (text, values) => ask(connection, text, values),
    end: async () => connection.destroy(),
    release: () => connection.destroy(),
    raw: connection,
  };
}

async function ask(
  session: Session,
  text: string,
  values: readonly unknown[] = [],
): Promise<Pick<QueryResult<Row>, 'rows' | 'rowCount'>> {
  const { sql, returning } = speakMysql(text, values);
  const [answer] = await session.query({ sql, typeCast: asPgReads });
  const last = lastOf(answer);
  if (Array.isArray(last)) {
    const rows = (last as Row[]).map(withoutOwnColumns);
    return { rows, rowCount: rows.length };
  }
  const { affectedRows, insertId } = last as ResultSetHeader;
  if (!returning) return { rows: [], rowCount: affectedRows };
  const { table, columns } = returning;
  const range = `id between ${insertId} and ${insertId} + ${affectedRows - 1}`;
  const [rows] = await session.query({
    sql: `select ${columns} from ${table} where ${range} order by id`,
    typeCast: asPgReads,
  });
  return { rows: (rows as Row[]).map(withoutOwnColumns), rowCount: affectedRows };
}

/** Of several statements in one text the last answers. */
function lastOf(answer: unknown): unknown {
  const isOfSeveral =
    Array.isArray(answer) &&
    answer.some((one) => Array.isArray(one) || one?.constructor?.name === 'ResultSetHeader');
  return isOfSeveral ? (answer as unknown[]).at(-1) : answer;
}
