import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import type { TaskStatus } from '../../lib/index.js';
import { useDashboard } from './kit/dashboard-bench.js';
import { gone, says, seen } from './kit/seen.js';
import { seedTask, seedTasks, type SeedTask } from './kit/seed.js';

const bench = useDashboard();
let publicationId = '';
const ids = new Map<string, string>();

const ended = { due: -60, started: -50, finished: -49 };

beforeAll(async () => {
  const { pool } = bench;
  publicationId = await seedTask(pool, {
    topic: 'order-placed',
    status: 'succeeded',
    publication: true,
    ...ended,
  });
  const tasks: Record<string, SeedTask> = {
    scheduled: { topic: 'send-survey', status: 'scheduled', due: 86_400 },
    pending: { topic: 'reserve-stock', key: 'order-17', tenant: 3, group: 'north' },
    processing: { topic: 'charge-card', status: 'processing', due: -5, started: -4 },
    first: {
      topic: 'send-receipt',
      status: 'failed',
      retried: true,
      message: 'connect ETIMEDOUT',
      ...ended,
      due: -7_200,
    },
    untopical: { topic: null, status: 'succeeded', ...ended },
    delivery: { topic: 'order-placed', status: 'succeeded', subscriptionId: 'crm', publicationId, ...ended },
    dead: { topic: 'charge-card', status: 'succeeded', dead: true, liveId: publicationId, ...ended },
    broken: { topic: 'send-receipt', status: 'failed', message: '100% sure: mailbox_full', ...ended },
  };
  const made = await seedTasks(pool, Object.values(tasks));
  for (const [index, name] of Object.keys(tasks).entries()) ids.set(name, made[index] ?? '');
});

/** Names of the tasks that the list shows, in its order. */
async function listed(page: Page): Promise<readonly string[]> {
  await seen(page.getByRole('heading', { name: /^\d+ tasks?/ }));
  const links = await page.getByRole('rowheader').getByRole('link').allInnerTexts();
  const names = new Map([...ids].map(([name, id]) => [id, name]));
  return links.map((id) => names.get(id) ?? (id === publicationId ? 'publication' : id));
}

describe('tasks are found', () => {
  test('by status', async () => {
    const page = await bench.open('#/tasks');
    const statuses: readonly (readonly [TaskStatus, string, readonly string[]])[] = [
      ['scheduled', 'Scheduled', ['scheduled']],
      ['pending', 'Pending', ['pending']],
      ['processing', 'Running', ['processing']],
      ['succeeded', 'Succeeded', ['dead', 'delivery', 'untopical', 'publication']],
      ['failed', 'Failed', ['broken']],
    ];
    for (const [status, label, found] of statuses) {
      const box = page.getByRole('checkbox', { name: label });
      await page.locator('label').filter({ hasText: label }).click();
      await expect.poll(() => listed(page), { message: status }).toEqual(found);
      expect(page.url()).toContain(`#/tasks?status=${status}`);
      expect(await box.isChecked()).toBe(true);
      await page.getByRole('button', { name: 'Clear' }).click();
    }
    await page.locator('label').filter({ hasText: 'Pending' }).click();
    await page.locator('label').filter({ hasText: 'Failed' }).click();
    await expect.poll(() => listed(page)).toEqual(['broken', 'pending']);
  });

  test('by what is typed', async () => {
    const page = await bench.open('#/tasks');
    await page.getByText('More filters').click();
    const fields = [
      ['Topic', 'reserve-stock', ['pending']],
      ['Subscription', 'crm', ['delivery']],
      ['External key', 'order-17', ['pending']],
      ['Tenant', '3', ['pending']],
      ['Group', 'north', ['pending']],
      ['Text in the message', '100% SURE: mailbox_', ['broken']],
    ] as const;
    for (const [label, text, found] of fields) {
      await page.getByRole('button', { name: 'Clear' }).click();
      await page.getByRole('searchbox', { name: label }).fill(text);
      await page.keyboard.press('Enter');
      await expect.poll(() => listed(page), { message: label }).toEqual(found);
    }
    // The address can be shared and come back to.
    await page.reload();
    await expect.poll(() => listed(page)).toEqual(['broken']);
    expect(await page.getByRole('searchbox', { name: 'Text in the message' }).inputValue()).toBe(
      '100% SURE: mailbox_',
    );
  });

  test('by publication, time, dead chain, without a topic, and with attempts that were retried', async () => {
    const page = await bench.open('#/tasks');
    await page.getByText('More filters').click();
    const clear = page.getByRole('button', { name: 'Clear' });
    await page.getByLabel('Publication id').fill(publicationId);
    await page.getByRole('button', { name: 'Search' }).click();
    await expect.poll(() => listed(page)).toEqual(['delivery']);
    await clear.click();
    await page.getByLabel('Dead chain').selectOption('Only dead');
    await expect.poll(() => listed(page)).toEqual(['dead']);
    await clear.click();
    await page.getByLabel('Only without a topic').check();
    await expect.poll(() => listed(page)).toEqual(['untopical']);
    await clear.click();
    await page.getByLabel('As each task stands now').uncheck();
    await page.getByLabel('Topic', { exact: true }).fill('send-receipt');
    await page.getByRole('button', { name: 'Search' }).click();
    await expect.poll(() => listed(page)).toEqual(['broken', 'first']);
    // The page's clock is in UTC.
    await page.getByLabel('Until').fill(new Date(Date.now() - 3_600_000).toISOString().slice(0, 19));
    await page.getByRole('button', { name: 'Search' }).click();
    await expect.poll(() => listed(page)).toEqual(['first']);
  });

  test('not at all, which is said with what to do', async () => {
    const page = await bench.open('#/tasks?topic=nobody');
    await says(page.getByRole('main'), /No task matches\.\s*Take filters away/);
    await page.goto(`${bench.app.url}#/tasks?tenant=blue`);
    await says(page.getByRole('alert'), /tenant.*blue/);
    expect(bench.takeFaults().join('\n')).toContain('400 (Bad Request)');
  });

  test('by id', async () => {
    const page = await bench.open('#/tasks');
    await page.getByLabel('Go to task').fill(ids.get('broken') ?? '');
    await page.keyboard.press('Enter');
    await seen(page.getByRole('heading', { name: `Task ${ids.get('broken')}` }));
    await page.goBack();
    await page.getByLabel('Go to task').fill('999999');
    await page.getByRole('button', { name: 'Go', exact: true }).click();
    await says(page.getByRole('alert'), /there is no attempt 999999/);
    expect(bench.takeFaults().join('\n')).toContain('404 (Not Found)');
  });
});

describe('a long list', () => {
  const pages = 120;

  beforeAll(async () => {
    await seedTasks(
      bench.pool,
      Array.from({ length: pages }, () => ({ topic: 'resize-image', status: 'succeeded', ...ended })),
    );
  });

  test('goes on when asked to, without repeating or losing one', async () => {
    const page = await bench.open('#/tasks?topic=resize-image');
    const more = page.getByRole('button', { name: 'Show 50 more' });
    await seen(page.getByRole('heading', { name: '50 tasks, and maybe more' }));
    await more.click();
    await seen(page.getByRole('heading', { name: '100 tasks, and maybe more' }));
    await more.click();
    await seen(page.getByRole('heading', { name: '120 tasks', exact: true }));
    await gone(more);
    const found = await page.getByRole('rowheader').getByRole('link').allInnerTexts();
    expect(new Set(found).size).toBe(pages);
    expect(found).toEqual(found.toSorted((a, b) => Number(b) - Number(a)));
  });

  test('is searched on by itself while a look finds less than a page, and stops when asked to', async () => {
    const page = await bench.newPage();
    const asked: (string | null)[] = [];
    await page.route('**/api/tasks?*', async (route) => {
      const after = new URL(route.request().url()).searchParams.get('after');
      asked.push(after);
      const answer = await route.fetch();
      const { tasks } = (await answer.json()) as { tasks: unknown[] };
      // As on a table so large that each look covers a quarter.
      const look = asked.length;
      await route.fulfill({
        json: { tasks: tasks.slice(0, 1), next: look < 4 ? String(1_000 - look) : null, searched: look / 4 },
      });
    });
    await page.goto(`${bench.app.url}#/tasks?topic=charge-card&status=processing`);
    await seen(page.getByRole('heading', { name: '1 task', exact: true }));
    expect(asked).toEqual([null, '999', '998', '997']);
    await page.unroute('**/api/tasks?*');
    let looks = 0;
    await page.route('**/api/tasks?*', (route) => {
      looks += 1;
      // The third look does not end.
      if (looks > 2) return undefined;
      return route.fulfill({ json: { tasks: [], next: String(1_000 - looks), searched: looks / 10 } });
    });
    await page.goto(`${bench.app.url}#/tasks?topic=send-receipt`);
    await seen(page.getByText('20% of the table looked at'));
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.unroute('**/api/tasks?*');
    await page.getByRole('button', { name: 'Go on searching' }).click();
    await seen(page.getByRole('heading', { name: '1 task', exact: true }));
  });
});

describe('retry all', () => {
  const failed = { topic: 'sync-stock', status: 'failed', ...ended } as const;

  test('counts first, then goes through them and says how far it is', async () => {
    const { pool, app } = bench;
    await seedTasks(
      pool,
      Array.from({ length: 700 }, (_, n) => ({
        ...failed,
        message: n < 600 ? 'too many connections' : 'other',
      })),
    );
    const page = await bench.open('#/tasks?status=failed&topic=sync-stock&message=too+many');
    await page.getByRole('button', { name: 'Retry all that match…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Retry all that match' });
    await says(dialog.getByRole('status'), '600 failed tasks match.');
    await seen(dialog.getByRole('row', { name: 'sync-stock 600' }));
    expect(await retried('sync-stock')).toBe(0);
    await dialog.getByRole('button', { name: 'Retry 600 tasks' }).click();
    await says(dialog.getByRole('status'), 'Done: 600 tasks were retried.');
    expect(await retried('sync-stock')).toBe(600);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await says(page.getByRole('main'), 'No task matches.');
    expect(app.told.length).toBeGreaterThan(0);
    expect(new Set(app.told.map(({ action }) => action))).toEqual(new Set(['retry-all']));
    expect(JSON.parse(app.told[0]?.target ?? '')).toMatchObject({ topic: 'sync-stock', message: 'too many' });
  });

  test('stops between blocks, and goes on', async () => {
    await seedTasks(
      bench.pool,
      Array.from({ length: 3 }, () => ({ ...failed, topic: 'sync-prices' })),
    );
    const page = await bench.open('#/tasks?status=failed&topic=sync-prices');
    const blocks = [
      { retried: 1, after: '1' },
      { retried: 1, after: '2' },
      { retried: 1, after: null },
    ];
    let release: () => void = () => undefined;
    await page.route('**/api/actions/retry-all', async (route) => {
      const block = blocks.shift();
      if (blocks.length === 1) await new Promise<void>((resolve) => (release = resolve));
      await route.fulfill({ json: block });
    });
    await page.getByRole('button', { name: 'Retry all that match…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Retry 3 tasks' }).click();
    await says(dialog, '1 of 3 retried');
    expect(await dialog.getByRole('progressbar').getAttribute('value')).toBe('1');
    await dialog.getByRole('button', { name: 'Stop' }).click();
    await expect.poll(() => blocks.length).toBe(1);
    release();
    await says(dialog, 'Stopped: 2 tasks were retried.');
    await dialog.getByRole('button', { name: 'Go on' }).click();
    await says(dialog, 'Done: 3 tasks were retried.');
  });

  test('of tasks without a topic means no others', async () => {
    await seedTasks(bench.pool, [
      { ...failed, topic: null },
      { ...failed, topic: 'sync-others' },
    ]);
    const page = await bench.open('#/tasks?status=failed&topic=');
    await seen(page.getByRole('heading', { name: '1 task', exact: true }));
    await page.getByRole('button', { name: 'Retry all that match…' }).click();
    await says(page.getByRole('dialog'), '1 failed task matches.');
  });

  async function retried(topic: string): Promise<number> {
    const { rowCount } = await bench.pool.query(
      `select from tasks where processo = $1 and id_inicial is not null and status = 'pendente'`,
      [topic],
    );
    return rowCount ?? 0;
  }
});

test('the list follows what happens, unless it is told not to', async () => {
  const page = await bench.open('#/tasks?topic=wrap-gift');
  await says(page.getByRole('main'), 'No task matches.');
  const id = await bench.app.queue.insertTask({ topic: 'wrap-gift' });
  await seen(page.getByRole('link', { name: id, exact: true }));
  await page.getByLabel('Refresh every 5 s').uncheck();
  await page.reload();
  await seen(page.getByRole('link', { name: id, exact: true }));
  expect(await page.getByLabel('Refresh every 5 s').isChecked()).toBe(false);
});
