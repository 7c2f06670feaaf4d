import { createConnection, createPool } from 'mysql2/promise';
import { startMysqlCluster } from '../../faults/kit/mysql-cluster.js';
import type { MysqlFlavour, MysqlTestDatabase } from '../../support/mysql.js';

/** What its owner may set for every session of a server, each as far from what is usual as can be. */
const options = {
  mariadb: ['lower-case-table-names=1'],
  mysql: ['sql-require-primary-key=ON', 'explicit-defaults-for-timestamp=OFF'],
} as const;

const modes = {
  mariadb: 'ORACLE,EMPTY_STRING_IS_NULL,NO_BACKSLASH_ESCAPES,HIGH_NOT_PRECEDENCE,PAD_CHAR_TO_FULL_LENGTH',
  mysql:
    'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,HIGH_NOT_PRECEDENCE,PAD_CHAR_TO_FULL_LENGTH,REAL_AS_FLOAT,ONLY_FULL_GROUP_BY',
} as const;

const isolation = { mariadb: 'tx_isolation', mysql: 'transaction_isolation' } as const;

/** Run by the server for every user but one with all rights. */
const initConnect = (flavour: MysqlFlavour): string =>
  [
    'set names latin1',
    `set session sql_mode = '${modes[flavour]}', time_zone = '+13:00', lc_messages = 'pt_BR', lc_time_names = 'pt_BR'`,
    `set session autocommit = 0, completion_type = 1, ${isolation[flavour]} = 'SERIALIZABLE'`,
    'set session sql_safe_updates = 1, sql_select_limit = 1, sql_big_selects = 0, max_join_size = 1, sql_auto_is_null = 1',
    'set session auto_increment_increment = 3, div_precision_increment = 0, group_concat_max_len = 4',
    `set session default_storage_engine = 'MyISAM', foreign_key_checks = 0, unique_checks = 0`,
  ].join('; ');

/** A database whose default character set lacks most characters, on a server of its own, and its user. */
export async function createElsewhere(flavour: MysqlFlavour): Promise<MysqlTestDatabase> {
  const cluster = await startMysqlCluster(flavour, [
    'character-set-server=latin1',
    'collation-server=latin1_swedish_ci',
    'innodb-rollback-on-timeout=ON',
    ...options[flavour],
  ]);
  try {
    const root = await createConnection({ uri: cluster.url, multipleStatements: true });
    await root.query(
      `create database shop character set latin1;
       create user elsewhere@'%';
       grant all privileges on shop.* to elsewhere@'%';
       set global init_connect = ?`,
      [initConnect(flavour)],
    );
    await root.end();
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  const pool = createPool({
    uri: `${cluster.url}/shop`,
    timezone: 'Z',
    dateStrings: true,
    supportBigNumbers: true,
    bigNumberStrings: true,
    multipleStatements: true,
  });
  return {
    name: 'shop',
    url: `mysql://elsewhere@127.0.0.1:${cluster.port}/shop`,
    pool,
    drop: async () => {
      await pool.end();
      await cluster.stop();
    },
  };
}
