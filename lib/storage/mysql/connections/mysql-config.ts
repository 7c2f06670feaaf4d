import type { ConnectionOptions } from 'mysql2';
import { TarefaError } from '../../../errors.js';
import { misreadUrl } from '../../../options/check-connection.js';
import type { MysqlConfig, MysqlConnection, MysqlPool } from '../../../options/mysql-connection.js';

/** What the options of a pool say of the pool, not of its connections. */
const poolOptions = new Set([
  'connectionLimit',
  'maxIdle',
  'idleTimeout',
  'queueLimit',
  'waitForConnections',
  'namedPlaceholders',
  'rowsAsArray',
  'typeCast',
  'nestTables',
]);

/**
 * The configuration behind a connection. The library opens its own connections from it: a pool of the user's is only read,
 * never borrowed from, because connections here are set up in their own way.
 */
export function mysqlConfig(connection: MysqlConnection): ConnectionOptions {
  const { uri, ...rest } = givenConfig(connection);
  const kept = Object.fromEntries(Object.entries(rest).filter(([name]) => !poolOptions.has(name)));
  return {
    connectTimeout: 10_000,
    enableKeepAlive: true,
    keepAliveInitialDelay: 10_000,
    ...(uri === undefined ? {} : readUrl(uri)),
    ...(kept as ConnectionOptions),
    // What the statements and the readers of rows take for granted.
    charset: 'UTF8MB4_BIN',
    timezone: 'Z',
    supportBigNumbers: true,
    bigNumberStrings: true,
    multipleStatements: true,
  };
}

/** How a connection appears in the server's tables of its sessions. */
export function namedConfig(config: ConnectionOptions, purpose: string): ConnectionOptions {
  const { connectAttributes } = config;
  return { ...config, connectAttributes: { program_name: `tarefa ${purpose}`, ...connectAttributes } };
}

function givenConfig(connection: MysqlConnection): MysqlConfig {
  if (typeof connection === 'string') return { uri: connection };
  return isPool(connection) ? configOf(connection) : connection;
}

/** A key that is equal for connections to the same database as the same user. Holds no secret. */
export function connectionKey(connection: MysqlConnection): string {
  const { host = 'localhost', port = 3306, socketPath, database, user } = mysqlConfig(connection);
  return JSON.stringify([socketPath ?? host, socketPath === undefined ? port : null, database, user]);
}

/** Why a connection cannot be used as it is written, or undefined. Never shows the value: it may hold a password. */
export function connectionProblem(connection: MysqlConnection): string | undefined {
  try {
    const { database } = mysqlConfig(connection);
    return database === undefined || database === ''
      ? 'names no database: write mysql://host/database'
      : undefined;
  } catch {
    return misreadUrl;
  }
}

function isPool(connection: object): connection is MysqlPool {
  return 'getConnection' in connection && typeof connection.getConnection === 'function';
}

/** Pools with promises wrap one with callbacks. */
function configOf({ pool, config }: MysqlPool): MysqlConfig {
  const found = config?.connectionConfig ?? pool?.config?.connectionConfig;
  if (found) return { ...found };
  throw new TarefaError(
    'OPTIONS_INVALID',
    'connection is a pool whose configuration cannot be read: pass its configuration, or a URL',
  );
}

/** Parameters of the URL are options of the driver, as it reads them itself. */
function readUrl(uri: string): ConnectionOptions {
  const { hostname, port, username, password, pathname, searchParams } = new URL(uri);
  const parameters = [...searchParams].map(([name, value]) => [name, readParameter(value)] as const);
  return {
    host: decodeURIComponent(hostname).replace(/^\[(.*)\]$/, '$1') || 'localhost',
    ...(port === '' ? {} : { port: Number(port) }),
    ...(username === '' ? {} : { user: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(pathname.length > 1 ? { database: decodeURIComponent(pathname.slice(1)) } : {}),
    ...Object.fromEntries(parameters),
  };
}

function readParameter(value: string): unknown {
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

/**
 * Set on every connection of ours: what statements are written for, whatever the server's defaults are, or what its `init_connect`
 * sets. A server may take another character set than the one that a client logs in with, leave every statement uncommitted, begin a
 * transaction after each COMMIT, and refuse or cut what touches many rows.
 */
export const commonSettings = `set names utf8mb4 collate utf8mb4_bin;
set session transaction isolation level read committed;
set session time_zone = '+00:00';
set session autocommit = 1, completion_type = 0, sql_safe_updates = 0, sql_big_selects = 1, sql_select_limit = 18446744073709551615`;

/**
 * Of connections on which handlers work: how long their statements wait for locks is theirs to say, and so is their SQL, but for what
 * would store other values than were given.
 */
export const taskSettings = `${commonSettings};
set session sql_mode = trim(both ',' from replace(replace(concat_ws(',', @@session.sql_mode, 'STRICT_TRANS_TABLES'), 'NO_BACKSLASH_ESCAPES', ''), 'HIGH_NOT_PRECEDENCE', ''))`;

/**
 * Of all others: what waits longer than that for a lock is tried again. A server may end sessions that say nothing for a few seconds,
 * and some of ours are idle for as long as nothing happens: they get the limit that it comes with.
 */
export const ownSettings = `${commonSettings};
set session sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION';
set session wait_timeout = 28800 /*M!100300 , idle_transaction_timeout = 0, idle_write_transaction_timeout = 0 */;
set session innodb_lock_wait_timeout = 5;
set session group_concat_max_len = 16777216`;
