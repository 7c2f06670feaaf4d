import mysql, { type ResultSetHeader, type RowDataPacket } from 'mysql2';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { ControlConnection } from '../../../lib/storage/mysql/connections/control-connection.js';
import { mysqlConfig } from '../../../lib/storage/mysql/connections/mysql-config.js';
import { OwnPool } from '../../../lib/storage/mysql/connections/own-pool.js';
import { mysqlDialect } from '../../../lib/storage/mysql/dialect.js';
import type { MysqlConnections } from '../../../lib/storage/mysql/mysql-access.js';
import { MysqlDatabase } from '../../../lib/storage/mysql/mysql-database.js';
import type { SchemaRequest } from '../../../lib/storage/mysql/schema/prepare-schema.js';
import { parseTableName } from '../../../lib/values/table-name.js';
import {
  createMysqlDatabase,
  mysqlStartMs,
  type MysqlFlavour,
  type MysqlTestDatabase,
} from '../../support/mysql.js';

/** The queue `tasks` of a test file in MySQL or MariaDB, empty at the beginning of each test. */
export interface MysqlQueueBench {
  readonly server: MysqlTestDatabase;
  /** As a process that works opens it, without a worker and its bell. */
  readonly database: MysqlDatabase;
  /** What rang, in order. */
  readonly rung: readonly string[];
  /** Runs a statement of the test's own. */
  readonly ask: (sql: string, values?: readonly unknown[]) => Promise<RowDataPacket[]>;
  /** The statuses of all attempts, in the order of their ids. */
  readonly statuses: () => Promise<readonly string[]>;
  /** Inserts rows of tasks; returns their ids, in order. */
  insert(rows: readonly Readonly<Record<string, unknown>>[]): Promise<readonly string[]>;
  /** Forgets what is in the queue and known of it. */
  empty(): Promise<void>;
  /** The same database as another process has it, or another user, whatever that one may do. */
  openUnchecked(url: string): Promise<MysqlDatabase>;
}

/**
 * @param options.connections of the library's own. Default: 5
 * @param options.filled true when what is in the tables stays for the next test
 * @param options.create where another server than that of the run is asked about
 * @param options.dialect in which its server is spoken to
 */
export function useMysqlQueue(
  flavour: MysqlFlavour,
  { connections = 5, filled = false, create = createMysqlDatabase, dialect = mysqlDialect } = {},
): MysqlQueueBench {
  let server: MysqlTestDatabase;
  let database: MysqlDatabase;
  const others: MysqlDatabase[] = [];
  const rung: string[] = [];

  const ask: MysqlQueueBench['ask'] = async (sql, values = []) => {
    const [rows] = await server.pool.query<RowDataPacket[]>(sql, [...values]);
    return rows;
  };
  const empty = async (): Promise<void> => {
    const names = ['', '_worker', '_paused', '_subscriber', '_webhook', '_history', '_schedule'];
    if (dialect.name === 'singlestore') names.push('_lock');
    await ask(names.map((name) => `delete from tasks${name}`).join('; '));
  };

  beforeAll(async () => {
    server = await create(flavour);
    database = openDatabase(rung, connectionsTo(server.url, connections, dialect));
    await database.prepare();
  }, mysqlStartMs);
  afterAll(async () => {
    await Promise.all([database, ...others].map((one) => one?.close()));
    await server?.drop();
  });
  beforeEach(async () => {
    rung.length = 0;
    if (!filled) await empty();
  });

  return {
    get server() {
      return server;
    },
    get database() {
      return database;
    },
    rung,
    ask,
    statuses: async () =>
      (await ask('select status from tasks order by id')).map((row) => String(row['status'])),
    async insert(rows) {
      const ids: string[] = [];
      for (const row of rows) {
        const [header] = await server.pool.query<ResultSetHeader>('insert into tasks set ?', [
          { processo: null, ...row },
        ]);
        ids.push(String(header.insertId));
      }
      return ids;
    },
    empty,
    async openUnchecked(url) {
      const other = openDatabase([], connectionsTo(url, 5, dialect));
      others.push(other);
      other.access.prepare(database.access.prepared);
      return other;
    },
  };
}

function openDatabase(rung: string[], connections: MysqlConnections): MysqlDatabase {
  const schema: SchemaRequest = {
    table: parseTableName('tasks'),
    subscriptionTable: parseTableName('tasks_subscriber'),
    mode: 'create',
    webhooks: true,
    works: true,
  };
  const bell = {
    ring: () => void rung.push('due'),
    changed: async () => void rung.push('changed'),
    halted: async () => void rung.push('halted'),
  };
  return new MysqlDatabase(connections, schema, bell, () => undefined);
}

/** The connections of a process that works; nobody is told when one is lost. */
export function connectionsTo(url: string, own = 5, dialect = mysqlDialect): MysqlConnections {
  const config = mysqlConfig(url);
  const watcher = { lost: () => undefined, restored: () => undefined };
  const { settings } = dialect;
  const control = (): ControlConnection =>
    new ControlConnection(mysql, config, settings.own, watcher, dialect);
  return {
    dialect,
    tasks: new OwnPool({ mysql, config, max: 10, settings: settings.tasks, dialect }),
    own: new OwnPool({ mysql, config, max: own, settings: settings.own, dialect }),
    control: { first: control(), second: control() },
  };
}

/** SQL of a time that many seconds ago; negative ones are to come. */
export const ago = (seconds: number): { toSqlString(): string } => ({
  toSqlString: () => `utc_timestamp(6) - interval ${seconds} second`,
});
