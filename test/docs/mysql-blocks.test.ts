import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { assembleCore } from '../../lib/assembly/core.js';
import { resolveOptions } from '../../lib/assembly/resolve-options.js';
import { QueueEvents } from '../../lib/events.js';
import { createMysqlDatabase, mysqlStartMs, type MysqlTestDatabase } from '../support/mysql.js';
import { documents } from './documents.js';

let database: MysqlTestDatabase;

/** The documents speak of the shop's queue. */
beforeAll(async () => {
  database = await createMysqlDatabase('mariadb');
  const options = { connection: database.url, queue: 'shop_queue', worker: false };
  const core = await assembleCore(resolveOptions(options, {}), new QueueEvents());
  await core.close();
}, mysqlStartMs);

afterAll(() => database?.drop());

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
