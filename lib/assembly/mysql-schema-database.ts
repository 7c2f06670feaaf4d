import { QueueEvents } from '../events.js';
import type { MysqlConnection } from '../options/mysql-connection.js';
import type { ResolvedOptions } from '../options/resolve-options.js';
import { mysqlConfig } from '../storage/mysql/connections/mysql-config.js';
import { loadMysql2 } from '../storage/mysql/connections/mysql-package.js';
import { OwnPool } from '../storage/mysql/connections/own-pool.js';
import type { DialectName } from '../storage/mysql/dialect.js';
import { dialectOf } from '../storage/mysql/singlestore/singlestore-dialect.js';
import { startPlace } from './mysql.js';
import type { Opened } from './opened.js';
import { StartAttempts } from './start-attempts.js';

/** A database in MySQL or MariaDB that answers, whatever is in it. */
export interface MysqlSchemaDatabase {
  readonly driver: 'mysql';
  readonly dialect: DialectName;
  readonly pool: OwnPool;
  readonly options: ResolvedOptions;
}

/** Opens connections and asks something, whatever is in the database. */
export async function openMysqlSchema(
  options: ResolvedOptions,
  address: MysqlConnection,
  dialectName: DialectName = 'mysql',
): Promise<Opened<MysqlSchemaDatabase>> {
  const mysql = await loadMysql2();
  const dialect = dialectOf(dialectName);
  const settings = dialect.settings.own;
  const pool = new OwnPool({ mysql, config: mysqlConfig(address), max: 2, settings, dialect });
  const close = (): Promise<void> => pool.close();
  try {
    const starting = new StartAttempts(options, new QueueEvents());
    await starting.run(startPlace(address), () => pool.query('select 1'));
    return { value: { driver: 'mysql', dialect: dialectName, pool, options }, close };
  } catch (error) {
    await close().catch(() => undefined);
    throw error;
  }
}
