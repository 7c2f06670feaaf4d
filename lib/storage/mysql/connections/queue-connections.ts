import type { ConnectionOptions } from 'mysql2';
import type { MysqlConnection } from '../../../options/mysql-connection.js';
import type { MysqlConnections } from '../mysql-access.js';
import { ControlConnection, type ControlWatcher } from './control-connection.js';
import { mysqlDialect, type Dialect } from '../dialect.js';
import { mysqlConfig, namedConfig } from './mysql-config.js';
import type { Mysql2 } from './mysql-package.js';
import { OwnPool } from './own-pool.js';

/** Which connections a queue opens. */
export interface ConnectionsRequest {
  readonly connection: MysqlConnection;
  /** Default: MySQL's. */
  readonly dialect?: Dialect | undefined;
  /** Connections for handlers' transactions. */
  readonly poolSize: number;
  /** False in a process that only produces: it claims nothing. */
  readonly works: boolean;
  /** Told of the connections that claim, by their names. */
  readonly watcher: (connection: string) => ControlWatcher;
  readonly warn: (message: string) => void;
}

/** Inserts, fan-out, changes by people and what they look at share these. */
const ownSize = 4;

/**
 * How old a connection of a pool may become in a process without a worker. A server that another one has replaced goes on answering
 * whoever only reads.
 */
const maxAgeMs = 60_000;

/** Prepares a queue's connections; each is opened when it is needed. */
export function openConnections(
  mysql: Mysql2,
  { connection, dialect = mysqlDialect, poolSize, works, watcher, warn }: ConnectionsRequest,
): MysqlConnections & { readonly config: ConnectionOptions } {
  const config = mysqlConfig(connection);
  const { settings } = dialect;
  const renew = (): void => {
    for (const one of [tasks, own]) one.renew();
  };
  // The looks of a worker find out by themselves, every few seconds.
  const ages = { suspect: renew, maxAgeMs: works ? undefined : maxAgeMs };
  const control = (name: string): ControlConnection =>
    new ControlConnection(
      mysql,
      namedConfig(config, name),
      settings.own,
      { ...watcher(name), refused: renew },
      dialect,
    );
  const tasks = new OwnPool({
    mysql,
    config: namedConfig(config, 'pool'),
    max: poolSize,
    settings: settings.tasks,
    dialect,
    ...ages,
    warn,
  });
  const own = new OwnPool({
    mysql,
    config: namedConfig(config, 'own'),
    max: Math.max(ownSize, works ? 0 : poolSize),
    settings: settings.own,
    dialect,
    ...ages,
    warn,
  });
  return {
    config,
    dialect,
    tasks,
    own,
    control: works ? { first: control('control'), second: control('control 2') } : undefined,
  };
}
