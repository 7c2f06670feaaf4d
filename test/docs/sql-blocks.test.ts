import { describe, expect, test } from 'vitest';
import { postgresSql } from '../../sample-app/database/postgres-sql.js';
import { useDatabase } from '../support/database.js';
import { createQueue } from '../support/queue-app.js';
import { documents } from './documents.js';

const database = await useDatabase();

/** What the documents speak of: the shop's own tables, its queue, and the queue of the quick start. */
await database.pool.query(postgresSql.createTables);
for (const queue of ['shop_queue', 'hello']) {
  await createQueue(database, { queue, webhooks: true });
}

const withSql = documents.filter(({ blocks }) => blocks.some(({ language }) => language === 'sql'));

describe('SQL blocks', () => {
  test.each(withSql)('of $path run, one after the other', async ({ blocks }) => {
    const client = await database.pool.connect();
    const failures: string[] = [];
    try {
      await client.query('begin');
      for (const { place, text } of blocks.filter(({ language }) => language === 'sql')) {
        await client.query('savepoint block');
        await client.query(text).catch(async (error: Error) => {
          failures.push(`${place}: ${error.message}`);
          await client.query('rollback to savepoint block');
        });
      }
    } finally {
      await client.query('rollback');
      client.release();
    }
    expect(failures).toEqual([]);
  });
});
