import type { ConnectionOptions } from 'node:tls';

/** A connection as `pg` is configured. */
export interface PostgresConfig {
  readonly connectionString?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly user?: string | undefined;
  readonly password?: string | (() => string | Promise<string>) | undefined;
  readonly database?: string | undefined;
  readonly ssl?: boolean | ConnectionOptions | undefined;
}

/** A pool of `pg`, whose configuration is read. */
export interface PostgresPool {
  readonly options: PostgresConfig;
  readonly totalCount: number;
  connect(...call: never[]): unknown;
}

/** What users may give as a connection: a URL, a `pg` configuration, or a pool whose configuration is read. */
export type PostgresConnection =
  | string
  | PostgresConfig
  // Fields that are not named above are handed to `pg` as they are.
  | (PostgresConfig & Readonly<Record<string, unknown>>)
  | PostgresPool;
