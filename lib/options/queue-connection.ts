import type { MysqlConfig, MysqlConnection } from './mysql-connection.js';
import type { PostgresConnection } from './postgres-connection.js';

/** Where a queue's database is, and whose address that is. */
export type QueueConnection =
  | { readonly driver: 'postgres'; readonly address: PostgresConnection }
  | {
      readonly driver: 'mysql';
      readonly address: MysqlConnection;
      /** Undefined for MySQL and MariaDB. */
      readonly dialect?: 'singlestore' | undefined;
    };

/** Finds the driver that an address is for: by the scheme of a URL, or by what a configuration or a pool has. */
export function connectionOf(given: PostgresConnection | MysqlConnection): QueueConnection {
  if (!isMysql(given)) return { driver: 'postgres', address: given as PostgresConnection };
  if (!isConfig(given)) return { driver: 'mysql', address: given };
  const address = withoutDriver(given);
  return given.driver === 'singlestore'
    ? { driver: 'mysql', address, dialect: 'singlestore' }
    : { driver: 'mysql', address };
}

function isMysql(given: PostgresConnection | MysqlConnection): given is MysqlConnection {
  if (typeof given === 'string') return /^(?:mysql|mariadb):\/\//i.test(given);
  if (!isConfig(given)) return 'getConnection' in given;
  return given.driver === 'mysql' || given.driver === 'singlestore' || given.uri !== undefined;
}

export function isSingleStore(connection: QueueConnection): boolean {
  return connection.driver === 'mysql' && connection.dialect === 'singlestore';
}

/** Neither text nor a pool of one of the drivers. */
function isConfig(given: PostgresConnection | MysqlConnection): given is MysqlConfig {
  return typeof given === 'object' && !('getConnection' in given) && !('connect' in given);
}

/** It is ours: `mysql2` knows no such option. */
function withoutDriver(given: MysqlConfig): MysqlConfig {
  const { driver, ...config } = given;
  return driver === undefined ? given : config;
}
