import type { ConnectionOptions } from 'mysql2';
import type { MysqlConnection } from '../../../options/mysql-connection.js';
import type { MysqlAccessParts } from '../mysql-access.js';
import { ControlConnection, type ControlWatcher } from './control-connection.js';
import { mysqlConfig, namedConfig, ownSettings, taskSettings } from './mysql-config.js';
import type { Mysql2 } from './mysql-package.js';
import { OwnPool } from './own-pool.js';

/** Which connections a queue opens. */
export interface ConnectionsRequest {
  readonly connection: MysqlConnection;
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

/** Prepares a queue's connections; each is opened when it is needed. */
export function openConnections(
  mysql: Mysql2,
  { connection, poolSize, works, watcher, warn }: ConnectionsRequest,
): MysqlAccessParts & { readonly config: ConnectionOptions } {
  const config = mysqlConfig(connection);
  const control = (name: string): ControlConnection =>
    new ControlConnection(mysql, namedConfig(config, name), ownSettings, {
      ...watcher(name),
      refused: renew,
    });
  const tasks = new OwnPool({
    mysql,
    config: namedConfig(config, 'pool'),
    max: poolSize,
    settings: taskSettings,
    warn,
  });
  const own = new OwnPool({
    mysql,
    config: namedConfig(config, 'own'),
    max: Math.max(ownSize, works ? 0 : poolSize),
    settings: ownSettings,
    warn,
  });
  const renew = (): void => {
    for (const one of [tasks, own]) one.renew();
  };
  return {
    config,
    tasks,
    own,
    control: works ? { first: control('control'), second: control('control 2') } : undefined,
  };
}
