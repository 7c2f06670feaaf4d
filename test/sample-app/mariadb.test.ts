import { afterAll, expect, test } from 'vitest';
import type { Health } from '../../sample-app/health/health.controller.js';
import type { ImportReport } from '../../sample-app/orders/order-import.js';
import { useMysqlDatabase } from '../support/mysql.js';
import { hasEnded, openShopAt } from './shop.js';

const database = await useMysqlDatabase('mariadb');
const shop = await openShopAt(database.url);

afterAll(() => shop.close());

const tea = { customer: 'Zoë 🦄', items: [{ sku: 'tea', quantity: 2 }], note: 'it\'s "urgent"? \\' };

test('on MariaDB an order reaches every subscription', async () => {
  const { id, publicationId } = await shop.place(tea);
  const report = await shop.orderWhen(id, hasEnded);
  expect(report).toMatchObject({ id, ...tea, publicationId, needsAttention: null });
  expect(Math.abs(new Date(report.placedAt).getTime() - Date.now())).toBeLessThan(600_000);
  expect(report.effects).toEqual({
    searchable: true,
    receiptSent: true,
    stockReserved: true,
    surveySent: true,
  });
  const ends = report.deliveries.map(({ subscription, status, dead }) => [subscription, status, dead]);
  expect(ends).toEqual([
    ['receipt', 'succeeded', false],
    ['search-index', 'succeeded', false],
    ['stock', 'succeeded', false],
  ]);
});

test('on MariaDB what stock cannot have is given up, and marked', async () => {
  const items = [
    { sku: 'tea', quantity: 1 },
    { sku: 'unicorn', quantity: 1 },
  ];
  const { id } = await shop.place({ customer: 'Ana', items });
  const report = await shop.orderWhen(id, hasEnded);
  expect(report).toMatchObject({
    note: null,
    needsAttention: expect.stringContaining('call the customer') as unknown,
  });
  expect(report.effects.stockReserved).toBe(false);
  expect(report.deliveries.filter(({ subscription }) => subscription === 'stock')).toMatchObject([
    { dead: false, status: 'failed', message: expect.stringContaining('nobody has unicorns') as unknown },
    { dead: true, status: 'succeeded' },
  ]);
});

test('on MariaDB orders are imported, and the shop is well', async () => {
  const lines = [JSON.stringify(tea), '{', JSON.stringify(tea)].join('\n');
  const { body } = await shop.post<ImportReport>('/orders/import', lines);
  expect(body).toMatchObject({ imported: 2, rejected: 1 });
  for (const id of body.ids) await shop.orderWhen(id, hasEnded);
  const { body: health } = await shop.get<Health>('/health');
  expect(health).toMatchObject({ status: 'ok', database: 'reachable', worker: 'running' });
});
