import { beforeAll } from 'vitest';
import { mysqlDialect } from '../../../lib/storage/mysql/dialect.js';
import { MysqlTestAccess } from '../../../lib/storage/mysql/mysql-test-access.js';
import { createMysqlDatabase, type MysqlFlavour } from '../../support/mysql.js';
import { useMysqlQueue } from '../mysql/mysql-queue.js';
import { storedTimes, type OpenDatabase } from './opened.js';

/**
 * Makes a database in MySQL or MariaDB for the file, whose tables are emptied for each test.
 *
 * @param create where another server than that of the run is asked about
 * @param dialect in which it is spoken to
 */
export function useMysql(
  flavour: MysqlFlavour,
  create = createMysqlDatabase,
  dialect = mysqlDialect,
): OpenDatabase {
  // Emptied below: what judges the suites opens it several times in a test.
  const bench = useMysqlQueue(flavour, { filled: true, create, dialect });
  const { ask } = bench;
  let refuses = false;
  const accept = async (): Promise<void> => {
    if (refuses) await ask('drop index of_the_application on tasks');
    refuses = false;
  };

  beforeAll(() => ask('create table effect (n int, id bigint auto_increment primary key)'));

  return async () => {
    await accept();
    await bench.empty();
    await ask('delete from effect');
    const { database } = bench;
    const { queue, workers, paused, webhooks } = database.access.tables;
    return {
      database,
      access: new MysqlTestAccess(database.access),
      inTransaction: (work) => database.inTransaction(work),
      effects: async () => {
        const [row] = await ask('select count(*) as n from effect');
        return Number(row?.['n']);
      },
      pause: async (route) => {
        await ask(`insert into ${paused} (route) values (?)`, [route]);
      },
      refuseInserts: async () => {
        await ask('create unique index of_the_application on tasks (processo)');
        refuses = true;
        return accept;
      },
      erase: async (id) => {
        await ask(`delete from ${queue} where id = ?`, [id]);
      },
      halt: async () => {
        await ask(`update ${workers} set halt_at = utc_timestamp(6)`);
      },
      setClockBack: async (ms) => {
        const later = (column: string): string =>
          `${column} = timestampadd(microsecond, ${ms * 1_000}, ${column})`;
        for (const [table, columns] of [
          [workers, storedTimes.workers],
          [webhooks, storedTimes.webhooks],
        ] as const) {
          await ask(`update ${table} set ${columns.map(later).join(', ')}`);
        }
      },
    };
  };
}
