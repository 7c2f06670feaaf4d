import { Client, Pool, type PoolClient } from 'pg';
import { SharedSessions } from '../coordination/shared-sessions.js';
import { startEmbeddedPostgres } from '../embedded/embedded-postgres.js';
import { assembleCore, assembleWorker } from '../queue.assembly.js';
import { hasCode, TarefaError } from '../queue.errors.js';
import { QueueEvents } from '../queue.events.js';
import type { ResolvedOptions } from '../resolve-options.js';
import {
  connectionConfig,
  isConnectionError,
  sessionSettings,
  type PostgresConnection,
} from '../storage/postgres/connection-config.js';
import type { CliDatabase, CliQueue } from './command.js';

/** Something open, and how to close it. */
export interface Opened<T> {
  readonly value: T;
  close(): Promise<void>;
}

/**
 * Opens a queue as an application without a worker does, and checks its tables.
 *
 * @param notice takes what works but deserves a word
 * @throws {TarefaError} `CONNECTION_LOST`, `SCHEMA_MISSING`, `SCHEMA_CONFLICT`
 */
export async function openQueue(
  options: ResolvedOptions,
  notice: (text: string) => void,
): Promise<Opened<CliQueue>> {
  const events = new QueueEvents();
  events.on('warning', ({ message }) => notice(message));
  try {
    const core = await assembleCore(options, events, new SharedSessions());
    const { schema, client, connections, storage } = core;
    for (const warning of schema.warnings) notice(warning);
    const { admin } = assembleWorker(core);
    return {
      value: { pool: connections.pool, tables: schema.tables, admin, client, storage, options },
      close: () => core.close(),
    };
  } catch (error) {
    throw explainConnection(error, options.connection);
  }
}

/** Opens a pool of the connection and asks it something, whatever is in the database. */
export async function openDatabase(options: ResolvedOptions): Promise<Opened<CliDatabase>> {
  const server =
    options.connection === 'embedded'
      ? await startEmbeddedPostgres(
          options.embeddedDataDir === undefined ? {} : { dataDir: options.embeddedDataDir },
        )
      : undefined;
  const connection = server?.url ?? options.connection;
  const pool = new Pool({
    ...connectionConfig(connection),
    application_name: 'tarefa command line',
    max: 4,
    verify: (client, done) => void prepareConnection(client, done),
  });
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  const close = async (): Promise<void> => {
    await pool.end();
    await server?.stop();
  };
  try {
    await pool.query('select 1');
    return { value: { pool, options }, close };
  } catch (error) {
    await close().catch(() => undefined);
    throw explainConnection(error, connection);
  }
}

/** A pooler may refuse one of the settings; what the statements need is set by them. */
async function prepareConnection(client: PoolClient, done: () => void): Promise<void> {
  await client.query(sessionSettings).catch(() => undefined);
  done();
}

/** Says where nobody answered or who was refused; other errors pass. Never the password. */
function explainConnection(error: unknown, connection: PostgresConnection): unknown {
  const cause = hasCode(error, 'CONNECTION_LOST') ? error.cause : error;
  if (!isConnectionError(cause) && !isRefusal(cause)) return error;
  const reason = cause instanceof AggregateError ? String(cause.errors[0]) : (cause as Error).message;
  return new TarefaError('CONNECTION_LOST', `${placeOf(connection)}: ${reason}`, { cause: error });
}

function placeOf(connection: PostgresConnection): string {
  if (connection === 'embedded') return 'the embedded PostgreSQL does not answer';
  const { host, port, database, user } = new Client(connectionConfig(connection));
  return `the database ${database ?? ''} at ${host}:${port} cannot be used as ${user ?? 'nobody'}`;
}

/** Wrong user or password, no such database, too many connections. */
function isRefusal(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^(28...|3D000|53300)$/.test(code);
}
