import { describe, expect, test } from 'vitest';
import { useMysqlDatabase } from '../support/mysql.js';
import { createQueue } from '../support/queue-app.js';
import { documents } from './documents.js';

const database = await useMysqlDatabase('mariadb');

/** The documents speak of the shop's queue. */
await createQueue(database, { queue: 'shop_queue' });

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
