import { describe, expect, test } from 'vitest';
import { useMysqlDatabase } from '../support/mysql.js';
import { createNsjMysqlTables } from '../support/nsj-mysql-table.js';
import { createQueue } from '../support/queue-app.js';
import { documents } from './documents.js';

const database = await useMysqlDatabase('mariadb');

/** The documents speak of the shop's queue. */
await createQueue(database, { queue: 'shop_queue' });
// What is moved from nsj-queue-lib was there before.
await createNsjMysqlTables(database.pool, 'shop_queue_old');
await database.pool.query('rename table shop_queue_old_subscriber to shop_queue_subscriber_old');

const withBlocks = documents.filter(({ blocks }) => blocks.some(({ language }) => language === 'mysql'));

describe('SQL blocks for MySQL', () => {
  test.each(withBlocks)('of $path run, one after the other', async ({ blocks }) => {
    const failures: string[] = [];
    for (const { place, text } of blocks.filter(({ language }) => language === 'mysql')) {
      await database.pool.query(text).catch((error: Error) => failures.push(`${place}: ${error.message}`));
    }
    expect(failures).toEqual([]);
  });
});
