import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TaskHandler } from '../../lib/index.js';
import { deferred, until } from '../support/waiting.js';
import type { PageOptions } from './kit/browser.js';
import { useDashboard } from './kit/dashboard-bench.js';
import { part, says, seen } from './kit/seen.js';
import { seedShop, type ShopIds } from './kit/shop.js';

// The pictures in docs/: `UPDATE_SCREENSHOTS=1 npx vitest run test/dashboard/screenshots` writes them. Otherwise they are
// taken anyway, and checked.

const folder = join(import.meta.dirname, '../../docs/images');
const largestBytes = 180_000;

const end = deferred();

class Handlers {
  @TaskHandler('charge-card')
  charge(): Promise<void> {
    return end.promise;
  }

  @TaskHandler('resize-photo')
  resize(): Promise<void> {
    return end.promise;
  }
}

const bench = useDashboard({
  handlers: [Handlers],
  unknownTasks: 'leave',
  history: false,
  webhooks: true,
  concurrency: 8,
});
let shop: ShopIds;

beforeAll(async () => {
  const { pool, app } = bench;
  shop = await seedShop(pool);
  for (const topic of ['charge-card', 'resize-photo', 'charge-card'])
    await app.queue.insertTask({ topic, payload: {} });
  await until(async () => {
    const { rowCount } = await pool.query(`select from tasks where status = 'processando'`);
    return rowCount === 3;
  }, 'three running tasks');
  // Pictures show no computer of those who take them.
  await pool.query(`update tasks_worker set host = 'shop-worker-1', pid = 4172`);
});

afterAll(() => end.resolve());

const desk: PageOptions = { width: 1280, height: 860 };

const pictures: readonly (readonly [string, PageOptions, () => string, (page: Page) => Promise<void>])[] = [
  ['overview', desk, () => '', overview],
  ['overview-dark', { ...desk, theme: 'dark' }, () => '', overview],
  ['phone', { width: 390, height: 844 }, () => '', overview],
  [
    'tasks',
    desk,
    () => '#/tasks?subscription=crm&status=failed',
    (page) => says(page.getByRole('row'), 'HTTP 503 from crm.example.com'),
  ],
  [
    'task',
    desk,
    () => `#/tasks/${shop.failed}`,
    async (page) => {
      await says(part(page, 'Attempts'), 'insufficient funds');
      await page.getByRole('button', { name: 'Show payload' }).click();
      await seen(page.getByText('1 value redacted'));
      await page.evaluate('document.activeElement.blur()');
    },
  ],
  [
    'subscriptions',
    desk,
    () => '#/subscriptions',
    (page) => says(page.getByRole('row', { name: /^crm/ }), /Resting/),
  ],
];

async function overview(page: Page): Promise<void> {
  await says(part(page, 'Needs attention'), 'The endpoint of crm failed 7 times');
  await seen(page.getByText('Live', { exact: true }));
  await says(part(page, 'Workers').getByRole('listitem'), 'shop-worker-1');
  await seen(page.locator('[data-chart="wait"] path.line'));
}

test.each(pictures)('%s', async (name, options, hash, shows) => {
  const page = await bench.open(hash(), options);
  await shows(page);
  const picture = await page.screenshot({ animations: 'disabled', caret: 'hide' });
  expect(picture.length).toBeLessThan(largestBytes);
  // A blank one takes some thousands.
  expect(picture.length).toBeGreaterThan(20_000);
  if (process.env['UPDATE_SCREENSHOTS'] === '1')
    await writeFile(join(folder, `dashboard-${name}.png`), picture);
});
