import mysql from 'mysql2';
import type { RowDataPacket } from 'mysql2';
import { afterAll, beforeAll } from 'vitest';
import { ControlConnection } from '../../../lib/storage/mysql/connections/control-connection.js';
import {
  mysqlConfig,
  ownSettings,
  taskSettings,
} from '../../../lib/storage/mysql/connections/mysql-config.js';
import { OwnPool } from '../../../lib/storage/mysql/connections/own-pool.js';
import { MysqlDatabase } from '../../../lib/storage/mysql/mysql-database.js';
import { MysqlTestAccess } from '../../../lib/storage/mysql/mysql-test-access.js';
import { parseTableName } from '../../../lib/values/table-name.js';
import {
  createMysqlDatabase,
  mysqlStartMs,
  type MysqlFlavour,
  type MysqlTestDatabase,
} from '../../support/mysql.js';
import { storedTimes, type OpenDatabase } from './opened.js';

/** Makes a database in MySQL or MariaDB for the file, whose tables are emptied for each test. */
export function useMysql(flavour: MysqlFlavour): OpenDatabase {
  let server: MysqlTestDatabase;
  let database: MysqlDatabase;
  let refuses = false;
  const accept = async (): Promise<void> => {
    if (refuses) await server.pool.query('drop index of_the_application on tasks');
    refuses = false;
  };

  beforeAll(async () => {
    server = await createMysqlDatabase(flavour);
    await server.pool.query('create table effect (n int)');
    database = openDatabase(server.url);
    await database.prepare();
  }, mysqlStartMs);
  afterAll(async () => {
    await database?.close();
    await server?.drop();
  });

  return async () => {
    await accept();
    const { access } = database;
    const { queue, workers, paused, subscriptions, webhooks, history } = access.tables;
    const all = [queue, workers, paused, subscriptions, webhooks, history, 'effect'];
    await server.pool.query(all.map((table) => `delete from ${table}`).join('; '));
    return {
      database,
      access: new MysqlTestAccess(access),
      undoes: true,
      inTransaction: (work) => database.inTransaction(work),
      effects: async () => {
        const [rows] = await server.pool.query<RowDataPacket[]>('select count(*) as n from effect');
        return Number(rows[0]?.['n']);
      },
      pause: async (route) => {
        await server.pool.query(`insert into ${paused} (route) values (?)`, [route]);
      },
      refuseInserts: async () => {
        await server.pool.query('create unique index of_the_application on tasks (processo)');
        refuses = true;
        return accept;
      },
      erase: async (id) => {
        await server.pool.query(`delete from ${queue} where id = ?`, [id]);
      },
      halt: async () => {
        await server.pool.query(`update ${workers} set halt_at = utc_timestamp(6)`);
      },
      setClockBack: async (ms) => {
        const later = (column: string): string =>
          `${column} = timestampadd(microsecond, ${ms * 1_000}, ${column})`;
        for (const [table, columns] of [
          [workers, storedTimes.workers],
          [webhooks, storedTimes.webhooks],
        ] as const) {
          await server.pool.query(`update ${table} set ${columns.map(later).join(', ')}`);
        }
      },
    };
  };
}

/** As a process that works opens it, without a worker and its bell. */
function openDatabase(url: string): MysqlDatabase {
  const config = mysqlConfig(url);
  const watcher = { lost: () => undefined, restored: () => undefined };
  const control = (): ControlConnection => new ControlConnection(mysql, config, ownSettings, watcher);
  return new MysqlDatabase({
    tasks: new OwnPool({ mysql, config, max: 10, settings: taskSettings }),
    own: new OwnPool({ mysql, config, max: 5, settings: ownSettings }),
    control: { first: control(), second: control() },
    schema: {
      table: parseTableName('tasks'),
      subscriptionTable: parseTableName('tasks_subscriber'),
      mode: 'create',
      webhooks: true,
      works: true,
    },
    bell: { ring: () => undefined, changed: async () => undefined, halted: async () => undefined },
    warn: () => undefined,
  });
}
