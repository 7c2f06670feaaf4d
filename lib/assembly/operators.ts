import { Pool, type PoolClient } from 'pg';
import type { QueueAdmin } from '../admin/queue-admin.js';
import type { QueueClient } from '../client/queue-client.js';
import { startEmbeddedPostgres } from '../embedded/embedded-postgres.js';
import { QueueEvents } from '../events.js';
import type { PostgresConnection } from '../options/postgres-connection.js';
import type { ResolvedOptions } from '../options/resolve-options.js';
import type { QueueDatabase } from '../storage/database.js';
import { connectionConfig, sessionSettings } from '../storage/postgres/connections/connection-config.js';
import { startPlace } from '../storage/postgres/connections/connection-problem.js';
import { OwnPool, ownTypes } from '../storage/postgres/connections/own-pool.js';
import type { TaskImportTransactions } from '../storage/task-import.js';
import { assembleCore, assembleWorker } from './core.js';
import type { MysqlSchemaDatabase } from './mysql-schema-database.js';
import type { Opened } from './opened.js';
import { StartAttempts } from './start-attempts.js';

/** Who changes tables and looks from a second connection how far that is holds the first one. */
const lookPatienceMs = 1_000;

/** A queue whose tables are there, for an operator's commands. */
export interface OperatorQueue {
  readonly admin: QueueAdmin;
  readonly client: QueueClient;
  readonly database: QueueDatabase;
  readonly options: ResolvedOptions;
  /** Opens what inserts many tasks in few transactions. */
  openImport(): Promise<TaskImportTransactions>;
}

/** A database that answers, whatever is in it: for commands that make or check tables. */
export type SchemaDatabase = PostgresSchemaDatabase | MysqlSchemaDatabase;

/** A PostgreSQL that answers, whatever is in it. */
export interface PostgresSchemaDatabase {
  readonly driver: 'postgres';
  readonly pool: OwnPool;
  readonly options: ResolvedOptions;
}

/**
 * Opens a queue as an application without a worker does, and checks its tables.
 *
 * @param notice takes what works but deserves a word
 * @throws {TarefaError} `DATABASE_UNREACHABLE`, `DATABASE_REFUSED`, `RIGHTS_MISSING`, `SCHEMA_MISSING`, `SCHEMA_CONFLICT`
 */
export async function openQueue(
  options: ResolvedOptions,
  notice: (text: string) => void,
): Promise<Opened<OperatorQueue>> {
  const events = new QueueEvents();
  events.on('warning', ({ message }) => notice(message));
  const core = await assembleCore(options, events);
  const { storage, prepared, client, database } = core;
  for (const warning of prepared.warnings) notice(warning);
  const { admin } = assembleWorker(core);
  return {
    value: {
      admin,
      client,
      database,
      options,
      openImport: () => storage.openImport(),
    },
    close: () => core.close(),
  };
}

/** Opens connections and asks something, whatever is in the database. */
export async function openDatabase(options: ResolvedOptions): Promise<Opened<SchemaDatabase>> {
  const { connection } = options;
  if (connection.driver === 'postgres') return openPostgresSchema(options, connection.address);
  const { openMysqlSchema } = await import('./mysql-schema-database.js');
  return openMysqlSchema(options, connection.address, connection.dialect);
}

async function openPostgresSchema(
  options: ResolvedOptions,
  address: PostgresConnection,
): Promise<Opened<PostgresSchemaDatabase>> {
  const server =
    address === 'embedded'
      ? await startEmbeddedPostgres(
          options.embeddedDataDir === undefined ? {} : { dataDir: options.embeddedDataDir },
        )
      : undefined;
  const connection = server?.url ?? address;
  const opened = new Pool({
    ...connectionConfig(connection),
    application_name: 'tarefa command line',
    max: 4,
    types: ownTypes,
    verify: (client, done) => void prepareConnection(client, done),
  });
  opened.on('error', () => undefined);
  const pool = new OwnPool(opened, { patienceMs: lookPatienceMs });
  const close = async (): Promise<void> => {
    await pool.end();
    await server?.stop();
  };
  try {
    await new StartAttempts(options, new QueueEvents()).run(startPlace(connection), () =>
      pool.query('select 1'),
    );
    return { value: { driver: 'postgres', pool, options }, close };
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
}

/** A pooler may refuse one of the settings; what the statements need is set by them. */
async function prepareConnection(client: PoolClient, done: () => void): Promise<void> {
  await client.query(sessionSettings).catch(() => undefined);
  done();
}
