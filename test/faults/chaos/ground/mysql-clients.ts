import { createPool, type PoolConnection } from 'mysql2/promise';
import { TopicSchemas } from '../../../../lib/client/topic-schemas.js';
import { QueueClient, type SqlHandle } from '../../../../lib/index.js';
import { isConnectionError } from '../../../../lib/storage/mysql/mysql-errors.js';
import { MysqlInserts } from '../../../../lib/storage/mysql/mysql-inserts.js';
import type { ClientOptions, QueueConnection, WorkGround } from './clients.js';

/** The workload on MariaDB. */
export const mysqlWork: WorkGround = {
  openClients: ({ url, max, connectMs, answerMs, name }: ClientOptions) => {
    const pool = createPool({
      uri: url,
      connectionLimit: max,
      connectTimeout: connectMs,
      supportBigNumbers: true,
      bigNumberStrings: true,
      ...(name === undefined ? {} : { connectAttributes: { program_name: name } }),
    });
    pool.on('connection', (connection) => connection.on('error', () => undefined));
    return {
      connect: async () => asConnection(await pool.getConnection(), answerMs),
      isRefusal,
      end: () => pool.end(),
    };
  },
  writeEffect: async (db, { root, attempt, dead, key, worker }) => {
    await db.query('insert into effect (task_root, attempt, dead, `key`, worker) values (?, ?, ?, ?, ?)', [
      root,
      attempt,
      dead,
      key,
      worker,
    ]);
    const { rows } = await db.query(
      'select cast(backend as char) as backend, cast(xid as char) as xid from effect where n = last_insert_id()',
    );
    const { backend, xid } = rows[0] as { backend: string; xid: string };
    return { backend, xid, app: worker };
  },
};

/** A statement that was killed may have been the one that asks for what an insert has made. */
const unclear = new Set([1317, 1053]);

function isRefusal(error: unknown): boolean {
  const { errno, sqlState } = (error ?? {}) as { readonly errno?: unknown; readonly sqlState?: unknown };
  return (
    typeof errno === 'number' && sqlState !== undefined && !unclear.has(errno) && !isConnectionError(error)
  );
}

function asConnection(connection: PoolConnection, answerMs: number | undefined): QueueConnection {
  const handle: SqlHandle = {
    query: async (sql, values) => {
      const late = answerMs === undefined ? undefined : setTimeout(() => cut(connection), answerMs);
      try {
        const [answer] = await connection.query({ sql, ...(values && { values }) });
        return { rows: Array.isArray(answer) ? (answer as Record<string, unknown>[]) : [] };
      } finally {
        clearTimeout(late);
      }
    },
  };
  const inserts = new MysqlInserts(
    {
      use: (work) => work(handle),
      transaction: () => Promise.reject(new Error('one statement is enough')),
      takesSeveral: false,
    },
    () => ({ table: 'tasks', maxPacketBytes: 2 ** 24 }),
  );
  return {
    ...handle,
    queue: new QueueClient(
      handle,
      { table: 'tasks' },
      { inserts, schemas: new TopicSchemas(), transaction: undefined },
    ),
    release: (error) => (error ? connection.destroy() : connection.release()),
  };
}

/** The driver's own `destroy` leaves those waiting for ever who wait for an answer. */
function cut({ connection }: PoolConnection): void {
  const { stream } = connection as unknown as { readonly stream: { destroy(error: Error): void } };
  stream.destroy(
    Object.assign(new Error('Connection lost: no answer'), { code: 'PROTOCOL_CONNECTION_LOST' }),
  );
}
