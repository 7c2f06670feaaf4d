import type { MysqlConfig, MysqlConnection } from './mysql-connection.js';
import type { PostgresConnection } from './postgres-connection.js';

/** Where a queue's database is, and whose address that is. */
export type QueueConnection =
  | { readonly driver: 'postgres'; readonly address: PostgresConnection }
  | { readonly driver: 'mysql'; readonly address: MysqlConnection };

/** Finds the driver that an address is for: by the scheme of a URL, or by what a configuration or a pool has. */
export function connectionOf(given: PostgresConnection | MysqlConnection): QueueConnection {
  if (!isMysql(given)) return { driver: 'postgres', address: given as PostgresConnection };
  return { driver: 'mysql', address: isConfig(given) ? withoutDriver(given) : given };
}

function isMysql(given: PostgresConnection | MysqlConnection): given is MysqlConnection {
  if (typeof given === 'string') return /^(?:mysql|mariadb):\/\//i.test(given);
  return isConfig(given) ? given.driver === 'mysql' || given.uri !== undefined : 'getConnection' in given;
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
