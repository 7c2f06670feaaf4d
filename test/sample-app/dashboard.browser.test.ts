import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useBrowser } from '../dashboard/kit/browser.js';
import { confirm, gone, part, row, says, seen } from '../dashboard/kit/seen.js';
import { hasEnded, openShop, type TestShop } from './shop.js';

// The shop as `npm start` opens it, with its body parser and its guard, used as a visitor does.

let shop: TestShop;
let address = '';
const password = 'a-word-for-tests';

beforeAll(async () => {
  process.env['STAFF_PASSWORD'] = password;
  shop = await openShop();
  address = await shop.app.getUrl();
});
afterAll(() => shop.close());
// Its hooks come last, so they run first: pages that are open when their server closes are not clean.
const browser = useBrowser();

async function open(hash = ''): Promise<Page> {
  const page = await browser.newPage({ user: { name: 'staff', password } });
  await page.goto(`${address}/queues${hash}`);
  await seen(page.getByRole('heading', { level: 1 }));
  return page;
}

const tea = { customer: 'Ana', items: [{ sku: 'tea', quantity: 1 }] };
const unicorn = { customer: 'Zoë', items: [{ sku: 'unicorn', quantity: 1 }] };

test('the bare address says what there is, and keeps the password to itself', async () => {
  const text = await (await fetch(address)).text();
  expect(text).toContain(`curl ${address}/orders/1`);
  expect(text).toContain(`${address}/queues`);
  expect(text).not.toContain(password);
});

test('what stock could not have is retried, alone and with all others', async () => {
  for (let n = 0; n < 2; n += 1) await shop.orderWhen((await shop.place(unicorn)).id, hasEnded);
  const page = await open('#/tasks?status=failed&subscription=stock');
  await says(page.getByRole('heading', { level: 2 }), '2 tasks');
  await page.getByRole('row').getByRole('link').first().click();
  const attempts = part(page, 'Attempts').getByRole('listitem');
  await expect.poll(() => attempts.count()).toBe(1);
  await confirm(page, page.getByRole('button', { name: 'Retry', exact: true }), 'Retry');
  // Nobody has unicorns now either.
  await expect.poll(() => attempts.filter({ hasText: 'nobody has unicorns' }).count()).toBe(2);
  await page.goBack();
  await page.getByRole('button', { name: 'Retry all matching…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Retry 2 tasks' }).click();
  await says(dialog.getByRole('status'), 'Done: 2 tasks were retried.');
  await dialog.getByRole('button', { name: 'Close' }).click();
  const { rows } = await shop.database.pool.query<{ n: number }>(
    `select count(*)::int as n from shop_queue where subscriber_id = 'stock' and reenfileirado`,
  );
  expect(rows[0]?.n).toBe(3);
});

test('receipts are paused, one that waits is cancelled, and the others go on', async () => {
  await shop.orderWhen((await shop.place(tea)).id, hasEnded);
  const page = await open();
  const workers = part(page, 'Workers').getByRole('listitem');
  await says(workers, 'webhooks');
  expect(await workers.getByText('every other topic').count()).toBe(0);
  const receipts = row(page, /^receipt/);
  const pause = page.getByRole('button', { name: 'Pause receipt' });
  // Topics that have no tasks at the moment come from the history, which is written four times a minute.
  await pause.waitFor();
  await confirm(page, pause, 'Pause');
  await says(receipts, 'Paused');
  const { id } = await shop.place(tea);
  await shop.orderWhen(id, ({ effects }) => effects.searchable && effects.stockReserved);
  await page.getByRole('link', { name: 'Tasks', exact: true }).click();
  await page.goto(`${address}/queues#/tasks?status=pending&subscription=receipt`);
  await page.getByRole('row').getByRole('link').first().click();
  await confirm(page, page.getByRole('button', { name: 'Cancel task' }), 'Cancel task');
  await says(part(page, 'Attempts'), 'cancelled by staff');
  await page.goto(`${address}/queues#/`);
  await confirm(page, page.getByRole('button', { name: 'Resume receipt' }).first(), 'Resume');
  await gone(receipts.getByText('Paused'));
});

test('a subscription is edited; one that is served by code is asked for no URL', async () => {
  const page = await open('#/subscriptions/search-index');
  await page.getByRole('button', { name: 'Edit' }).click();
  const dialog = page.getByRole('dialog');
  expect(await dialog.getByLabel('URL', { exact: true }).isVisible()).toBe(false);
  await dialog.getByLabel('Tenant').fill('7');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await gone(dialog);
  await says(part(page, 'Subscription'), /Tenant\s*7/);
  const { rows } = await shop.database.pool.query(
    `select tenant::text as tenant, url from shop_queue_subscriber where id = 'search-index'`,
  );
  expect(rows).toEqual([{ tenant: '7', url: null }]);
});
