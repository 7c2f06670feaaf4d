import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { subscribe } from '../support/subscriptions.js';
import { findObstacles } from './kit/axe.js';
import { useDashboard } from './kit/dashboard-bench.js';
import { gone, part, says, seen } from './kit/seen.js';
import { seedHistory, seedTask, seedTasks, seedWorker } from './kit/seed.js';

const bench = useDashboard({ webhooks: { allowedAddresses: ['127.0.0.1'] } });
let id = '';

beforeAll(async () => {
  const { pool, database, app } = bench;
  await subscribe(database, [
    { id: 'search-index' },
    {
      id: 'a-subscription-with-a-name-that-is-as-long-as-names-are-and-has-no-place-to-break-it-anywhere-at-all',
      url: `https://crm.example/${'a'.repeat(300)}`,
      headers: { 'X-Api-Key': 'k' },
    },
  ]);
  const ended = { due: -60, started: -59, finished: -58 };
  id = await seedTask(pool, {
    topic: `order.placed.${'without-a-break'.repeat(12)}`,
    status: 'failed',
    message: `connect ECONNREFUSED ${'0'.repeat(300)}`,
    error: `Error: ${'x'.repeat(3_000)}\n    at ${'y'.repeat(400)}`,
    result: JSON.stringify({ key: 'z'.repeat(900) }),
    payload: JSON.stringify({ key: 'z'.repeat(900), list: [1, 2, { a: null }] }),
    metadata: { traceparent: '0'.repeat(200) },
    key: 'k'.repeat(100),
    tenant: 7,
    group: 'g'.repeat(40),
    ...ended,
  });
  await seedTasks(pool, [
    { topic: 'send-receipt', due: -120 },
    { topic: 'send-survey', due: 3_600 },
    { topic: 'charge-card', status: 'processing', workerId: await seedWorker(pool), due: -20, started: -19 },
    { topic: 'charge-card', status: 'succeeded', ...ended },
    { topic: 'charge-card', status: 'succeeded', dead: true, liveId: id, ...ended },
  ]);
  await seedHistory(
    pool,
    't:charge-card',
    new Map(
      Array.from({ length: 60 }, (_, ago) => [
        ago,
        { succeeded: 9, failed: 8, waitsMs: [9, 90], runsMs: [5] },
      ]),
    ),
  );
  await app.admin.pause({ topic: 'send-survey' });
  await app.admin.schedules.add({
    id: `nightly-${'n'.repeat(90)}`,
    cron: '0,5,10,15,20,25,30,35,40,45,50,55 9-17 * jan-jun mon-fri',
    timezone: 'America/Argentina/Buenos_Aires',
    task: { topic: 't'.repeat(200) },
  });
});

/** Each with what opens everything in it that is folded away. */
const views: readonly (readonly [string, () => string, (page: Page) => Promise<void>])[] = [
  [
    'overview',
    () => '',
    async (page) => {
      await seen(part(page, 'Needs attention'));
      await page.getByText('As a table').first().click();
      await seen(page.getByRole('slider').first());
    },
  ],
  [
    'list of tasks',
    () => '#/tasks',
    async (page) => {
      await seen(page.getByRole('table'));
      await page.getByText('More filters').click();
      await page.getByLabel(/^Select all/).check();
    },
  ],
  [
    'task',
    () => `#/tasks/${id}`,
    async (page) => {
      await page.getByText('Error with stack').click();
      await page.getByText('Result', { exact: true }).click();
      await page.getByRole('button', { name: 'Show payload' }).click();
      await seen(page.getByRole('tree', { name: 'Payload' }));
    },
  ],
  [
    'dialog of an action',
    () => `#/tasks/${Number(id) + 1}`,
    async (page) => {
      await page.getByRole('button', { name: 'Cancel task' }).click();
      await seen(page.getByRole('dialog'));
    },
  ],
  [
    'dialog that retries all',
    () => '#/tasks?status=failed',
    async (page) => {
      await page.getByRole('button', { name: 'Retry all matching…' }).click();
      await seen(page.getByRole('dialog').getByRole('table'));
    },
  ],
  [
    'dialog that deletes what was selected',
    () => '#/tasks',
    async (page) => {
      await page.getByLabel(`Select task ${id}`).check();
      await page.getByRole('button', { name: 'Delete 1…' }).click();
      await seen(page.getByLabel('Delete them permanently'));
    },
  ],
  [
    'form of a new task',
    () => '#/tasks',
    async (page) => {
      await page.getByRole('button', { name: 'Insert a task…' }).click();
      await page.getByLabel('Payload', { exact: true }).fill(`{${'x'.repeat(300)}`);
      await page.getByText('More fields').click();
    },
  ],
  [
    'form of an edited payload',
    () => `#/tasks/${id}`,
    async (page) => {
      await page.getByRole('button', { name: 'Edit and retry…' }).click();
      await seen(page.getByRole('dialog').getByLabel('Payload'));
    },
  ],
  [
    'form of a new subscription',
    () => '#/subscriptions',
    async (page) => {
      await page.getByRole('button', { name: 'Add a subscription…' }).click();
      await page.getByLabel('URL').fill('https://crm.example');
      await page.getByRole('button', { name: 'Add a header' }).click();
    },
  ],
  ['list of schedules', () => '#/schedules', (page) => seen(page.getByRole('table'))],
  [
    'dialog of a schedule',
    () => '#/schedules',
    async (page) => {
      await page.getByRole('button', { name: /^Pause nightly/ }).click();
      await seen(page.getByRole('dialog'));
    },
  ],
  ['list of subscriptions', () => '#/subscriptions', (page) => seen(page.getByRole('table'))],
  [
    'subscription with its form',
    () =>
      '#/subscriptions/a-subscription-with-a-name-that-is-as-long-as-names-are-and-has-no-place-to-break-it-anywhere-at-all',
    async (page) => {
      await page.getByRole('button', { name: 'Edit' }).click();
      await page.getByLabel('Replace all headers').check();
    },
  ],
];

/** By how much the page is wider than the screen. */
const overhang = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

test.each(views)(
  'the %s puts nothing serious in anybody’s way, light, dark or on a phone, which it fits',
  async (_name, hash, unfold) => {
    const page = await bench.open(hash());
    await unfold(page);
    const looks = [
      { colorScheme: 'light' },
      { colorScheme: 'dark' },
      { colorScheme: 'light', width: 360 },
    ] as const;
    expect(bench.takeFaults()).toEqual([]);
    for (const { colorScheme, ...look } of looks) {
      await page.emulateMedia({ colorScheme });
      if ('width' in look) await page.setViewportSize({ width: look.width, height: 740 });
      expect(await overhang(page)).toBe(0);
      expect(await findObstacles(page)).toEqual([]);
    }
    await page.context().close();
    // The policy stops styles that the search itself tries to add.
    for (const fault of bench.takeFaults()) expect(fault).toContain('Applying inline style violates');
  },
);

describe('with the keyboard alone', () => {
  const focused = (page: Page): Promise<string> => page.evaluate('document.activeElement.innerText.trim()');

  /** Tabs on until what has focus says so. */
  async function tabTo(page: Page, words: string): Promise<void> {
    for (let presses = 0; presses < 80; presses += 1) {
      await page.keyboard.press('Tab');
      if ((await focused(page)) === words) return;
    }
    throw new Error(`'${words}' is not reached by Tab`);
  }

  test('a failed task is found and retried, and focus is never lost', async () => {
    const failed = await seedTask(bench.pool, {
      topic: 'print-invoice',
      status: 'failed',
      due: -9,
      started: -8,
      finished: -7,
    });
    const page = await bench.open();
    await seen(page.getByText('Live', { exact: true }));
    await tabTo(page, 'Tasks');
    await page.keyboard.press('Enter');
    await seen(page.getByRole('heading', { name: 'Tasks', level: 1 }));
    expect(await focused(page)).toBe('Tasks');
    expect(await page.evaluate('document.activeElement.tagName')).toBe('H1');
    await seen(page.getByRole('link', { name: failed, exact: true }));
    await tabTo(page, failed);
    await page.keyboard.press('Enter');
    await seen(page.getByRole('heading', { name: `Task ${failed}` }));
    await expect.poll(() => focused(page)).toBe(`Task ${failed}`);
    await seen(page.getByRole('button', { name: 'Retry', exact: true }));
    await tabTo(page, 'Retry');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: `Retry task ${failed}?` });
    await seen(dialog);
    await tabTo(page, 'Retry');
    await page.keyboard.press('Enter');
    await gone(dialog);
    await says(part(page, 'Attempts').getByRole('listitem').nth(1), 'Pending');
    await says(page.getByRole('status'), 'A new attempt was created.');
  });

  test('the first stop skips to the content; a dialog keeps focus and gives it back', async () => {
    const page = await bench.open('#/subscriptions/search-index');
    await page.keyboard.press('Tab');
    const skip = page.getByRole('link', { name: 'Skip to the content' });
    expect(await focused(page)).toBe('Skip to the content');
    const box = await skip.boundingBox();
    expect(box?.y).toBeGreaterThanOrEqual(0);
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('main');
    expect(page.url()).toContain('#/subscriptions/search-index');
    await tabTo(page, 'Edit');
    await page.keyboard.press('Enter');
    await seen(page.getByRole('dialog'));
    for (let presses = 0; presses < 30; presses += 1) {
      await page.keyboard.press('Tab');
      expect(
        await page.evaluate(
          'document.activeElement === document.body || document.activeElement.closest("dialog") !== null',
        ),
      ).toBe(true);
    }
    await page.keyboard.press('Escape');
    await gone(page.getByRole('dialog'));
    expect(await focused(page)).toBe('Edit');
  });
});

test('numbers that change leave focus, what is open and what is typed alone', async () => {
  const page = await bench.open();
  await seen(page.getByText('Live', { exact: true }));
  const button = page.getByRole('button', { name: 'Pause send-receipt' });
  await button.focus();
  const table = page.getByText('As a table').first();
  await table.click();
  await button.focus();
  const topic = `new-${id}`;
  await seedTask(bench.pool, { topic });
  await seen(page.getByRole('rowheader', { name: topic }));
  expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('Pause send-receipt');
  await seen(page.getByRole('figure').first().getByRole('table'));
});
