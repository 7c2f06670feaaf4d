import type { SecureContextOptions } from 'node:tls';

/** A connection as `mysql2` is configured. */
export interface MysqlConfig {
  /**
   * Says that it is one of `mysql2` and not of `pg`; `mysql` is not needed beside `uri`. With `singlestore` statements are those of
   * SingleStore's documentation; they were not run on SingleStore.
   */
  readonly driver?: 'mysql' | 'singlestore' | undefined;
  readonly uri?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  readonly database?: string | undefined;
  /** Path of a unix socket, in place of host and port. */
  readonly socketPath?: string | undefined;
  /** TLS: a profile that `mysql2` knows by name, or options. */
  readonly ssl?:
    string | (SecureContextOptions & { readonly rejectUnauthorized?: boolean | undefined }) | undefined;
}

/** Options of a pool, as `mysql2` declares them; what it connects by stands in `connectionConfig`. */
export interface MysqlPoolConfig {
  readonly host?: string | undefined;
  readonly connectionConfig?: MysqlConfig | undefined;
}

/** A pool of `mysql2`, of either of its two interfaces: its configuration is read. */
export interface MysqlPool {
  readonly pool?: MysqlPool | undefined;
  readonly config?: MysqlPoolConfig | undefined;
  getConnection(...call: never[]): unknown;
}

/**
 * What users may give as a connection to MySQL or MariaDB: a URL that begins with `mysql://` or `mariadb://`, a `mysql2`
 * configuration, or a pool whose configuration is read.
 */
export type MysqlConnection =
  | string
  | MysqlConfig
  // Fields that are not named above are handed to `mysql2` as they are.
  | (MysqlConfig & Readonly<Record<string, unknown>>)
  | MysqlPool;
