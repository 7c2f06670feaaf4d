import { afterAll, beforeAll, expect, test } from 'vitest';
import { QueueWorker } from '../../lib/index.js';
import { openShop, type TestShop } from './shop.js';

let shop: TestShop;
beforeAll(async () => {
  shop = await openShop();
});
// Not its database, which the last test drops.
afterAll(() => shop.app.close());

test('a shop that works says so', async () => {
  const { status, body } = await shop.get('/health');
  expect(status).toBe(200);
  expect(body).toEqual({
    status: 'ok',
    database: 'reachable',
    worker: 'running',
    uptimeSeconds: expect.any(Number),
    memory: { rss: expect.any(Number), heapUsed: expect.any(Number) },
  });
});

test('without a worker the shop is failing', async () => {
  await shop.app.get(QueueWorker).stop();
  const { status, body } = await shop.get('/health');
  expect(status).toBe(503);
  expect(body).toMatchObject({ status: 'failing', database: 'reachable', worker: 'stopped' });
});

test('without a database the shop is failing', async () => {
  await shop.database.drop();
  const { status, body } = await shop.get('/health');
  expect(status).toBe(503);
  expect(body).toMatchObject({ status: 'failing', database: 'unreachable' });
});
