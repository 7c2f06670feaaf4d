import { expect, test } from 'vitest';
import { useDatabase } from '../support/database.js';
import { until } from '../support/waiting.js';
import { clientOf, hasEnded } from './shop.js';

const database = await useDatabase();
process.env['DATABASE_URL'] = database.url;
const { createShop } = await import('../../sample-app/shop.js');

test('several shops may start at once on an empty database, and share the work', async () => {
  const shops = await Promise.all(Array.from({ length: 3 }, () => createShop({ logger: false })));
  await Promise.all(shops.map((shop) => shop.listen(0, '127.0.0.1')));
  const clients = await Promise.all(shops.map(async (shop) => clientOf(await shop.getUrl())));
  for (const client of clients) {
    const { id } = await client.place({ customer: 'Ana', items: [{ sku: 'tea', quantity: 1 }] });
    const { deliveries } = await client.orderWhen(id, hasEnded);
    expect(deliveries.map(({ subscription }) => subscription)).toEqual(['receipt', 'search-index', 'stock']);
  }
  await Promise.all(shops.map((shop) => shop.close()));
  // The server takes a moment to end a session that was told to.
  expect(await until(async () => (await countConnections()) === 0, 'all connections end')).toBe(true);
});

test('a subscription that was switched off stays so at the next start', async () => {
  await database.pool.query(`update shop_queue_subscriber set ativo = false where id = 'search-index'`);
  const shop = await createShop({ logger: false });
  await shop.listen(0, '127.0.0.1');
  const client = clientOf(await shop.getUrl());
  const { id } = await client.place({ customer: 'Bo', items: [{ sku: 'tea', quantity: 1 }] });
  const { deliveries, effects } = await client.orderWhen(id, hasEnded);
  expect(deliveries.map(({ subscription }) => subscription)).toEqual(['receipt', 'stock']);
  expect(effects.searchable).toBe(false);
  await shop.close();
});

/** Of others than this test; those of a shop must be gone when it is closed. */
async function countConnections(): Promise<number> {
  const { rows } = await database.pool.query<{ n: number }>(
    `select count(*)::int as n from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
  );
  return rows[0]?.n ?? -1;
}
