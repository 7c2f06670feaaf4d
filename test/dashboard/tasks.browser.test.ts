import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { useDashboard } from './kit/dashboard-bench.js';
import { gone, part, row, says, seen } from './kit/seen.js';
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
    retrying: { topic: 'send-survey', status: 'scheduled', attempt: 2, firstId: publicationId, due: 3_600 },
    untopical: { topic: null, status: 'succeeded', ...ended },
    delivery: { topic: 'order-placed', status: 'succeeded', subscriptionId: 'crm', publicationId, ...ended },
    dead: { topic: 'charge-card', status: 'succeeded', dead: true, liveId: publicationId, ...ended },
    broken: {
      topic: 'send-receipt',
      status: 'failed',
      exhausted: true,
      message: '100% sure: mailbox_full',
      payload: '{"order":41,"password":"hunter2"}',
      ...ended,
    },
  };
  const made = await seedTasks(pool, Object.values(tasks));
  for (const [index, name] of Object.keys(tasks).entries()) ids.set(name, made[index] ?? '');
});

/** Names of the tasks that the list shows, in its order. */
async function listed(page: Page): Promise<readonly string[]> {
  await seen(page.getByRole('heading', { name: /^\d+ tasks?/ }));
  const attempts = page.getByRole('row').filter({ has: page.getByRole('rowheader') });
  const shown = await attempts.evaluateAll((rows) => rows.map((one) => one.getAttribute('data-task') ?? ''));
  const names = new Map([...ids].map(([name, id]) => [id, name]));
  return shown.map((id) => names.get(id) ?? (id === publicationId ? 'publication' : id));
}

describe('tasks are found', () => {
  test('by status', async () => {
    const page = await bench.open('#/tasks');
    const statuses: readonly (readonly [string, string, readonly string[]])[] = [
      ['scheduled', 'Scheduled', ['scheduled']],
      ['pending', 'Pending', ['pending']],
      ['processing', 'Running', ['processing']],
      ['retrying', 'Retrying', ['retrying']],
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
      ['Text in the payload', 'ORDER":41', ['broken']],
      ['Text in the payload', 'hunter2', []],
      ['Text in the message', '100% SURE: mailbox_', ['broken']],
    ] as const;
    await expect.poll(async () => (await listed(page)).length).toBeGreaterThan(1);
    const all = await listed(page);
    for (const [label, text, found] of fields) {
      await page.getByRole('button', { name: 'Clear' }).click();
      // The fields are emptied after the address, and what is listed comes after both.
      await expect.poll(() => listed(page)).toEqual(all);
      await page.getByLabel(label, { exact: true }).fill(text);
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

  test('with counts on the statuses, and topics and subscriptions that are known', async () => {
    const page = await bench.open('#/tasks');
    const pills = page.getByRole('group', { name: 'Status' });
    await says(
      pills,
      /Scheduled\s*1\s*Pending\s*1\s*Running\s*1\s*Retrying\s*1\s*Succeeded\s*4\s*Failed\s*1/,
    );
    const topic = page.getByLabel('Topic', { exact: true });
    await topic.focus();
    const offered = (id: string) =>
      page
        .locator(`#${id} option`)
        .evaluateAll((all) => all.map((one) => (one as unknown as { value: string }).value));
    await expect.poll(() => offered('known-topics')).toContain('send-survey');
    expect(await topic.getAttribute('list')).toBe('known-topics');
    expect(await offered('known-subscriptions')).toEqual(['crm']);
    await topic.fill('send-survey');
    await page.keyboard.press('Enter');
    await says(pills, /Scheduled\s*1\s*Pending\s*0\s*Running\s*0\s*Retrying\s*1/);
  });

  test('on a phone too, where fields are folded away until they are wanted', async () => {
    const page = await bench.open('#/tasks?topic=send-survey', { width: 390 });
    const topic = page.getByLabel('Topic', { exact: true });
    expect(await topic.isVisible()).toBe(false);
    await page.getByText('Filters (1 set)').click();
    expect(await topic.inputValue()).toBe('send-survey');
    await page.getByRole('button', { name: 'Clear' }).click();
    await seen(page.getByText('Filters', { exact: true }));
  });

  test('by publication, time, dead chain, without a topic, buried, and with attempts that were retried', async () => {
    const page = await bench.open('#/tasks');
    await page.getByText('More filters').click();
    const clear = page.getByRole('button', { name: 'Clear' });
    await page.getByLabel('Publication id').fill(publicationId);
    await page.getByRole('button', { name: 'Search' }).click();
    await expect.poll(() => listed(page)).toEqual(['delivery']);
    await clear.click();
    await page.getByLabel('Dead chain').selectOption('Only dead');
    await expect.poll(() => listed(page)).toEqual(['dead']);
    // Chosen before the address has changed.
    await page.getByLabel('Publication id').fill(publicationId);
    await page.evaluate(`{
      const select = document.getElementById('filter-dead');
      document.querySelector('[data-action="clear"]').click();
      select.value = 'true';
      select.dispatchEvent(new Event('change', { bubbles: true }));
    }`);
    await expect.poll(() => listed(page)).toEqual(['dead']);
    await clear.click();
    await page.getByLabel('Only without a topic').check();
    await expect.poll(() => listed(page)).toEqual(['untopical']);
    await clear.click();
    await page.getByLabel('Gave up').selectOption('Buried (out of attempts)');
    await expect.poll(() => listed(page)).toEqual(['broken']);
    await clear.click();
    await page.getByLabel('Only the latest attempt of each task').uncheck();
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
    await says(page.getByRole('main'), /No task matches\.\s*Remove filters/);
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
    await says(page.getByRole('alert'), /attempt 999999 not found/);
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
    await seen(page.getByRole('heading', { name: '50 tasks, maybe more' }));
    await more.click();
    await seen(page.getByRole('heading', { name: '100 tasks, maybe more' }));
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
    await seen(page.getByText('20% of the table searched'));
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.unroute('**/api/tasks?*');
    await page.getByRole('button', { name: 'Continue searching' }).click();
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
    await page.getByRole('button', { name: 'Retry all matching…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Retry all matching tasks' });
    await says(dialog.getByRole('status'), '600 matching tasks can be retried.');
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
      { done: 1, after: '1' },
      { done: 1, after: '2' },
      { done: 1, after: null },
    ];
    let release: () => void = () => undefined;
    await page.route('**/api/actions/retry-all', async (route) => {
      const block = blocks.shift();
      if (blocks.length === 1) await new Promise<void>((resolve) => (release = resolve));
      await route.fulfill({ json: block });
    });
    await page.getByRole('button', { name: 'Retry all matching…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Retry 3 tasks' }).click();
    await says(dialog, '1 of 3 retried');
    expect(await dialog.getByRole('progressbar').getAttribute('value')).toBe('1');
    await dialog.getByRole('button', { name: 'Stop' }).click();
    await expect.poll(() => blocks.length).toBe(1);
    release();
    await says(dialog, 'Stopped: 2 tasks were retried.');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await says(dialog, 'Done: 3 tasks were retried.');
  });

  test('of tasks without a topic means no others', async () => {
    await seedTasks(bench.pool, [
      { ...failed, topic: null },
      { ...failed, topic: 'sync-others' },
    ]);
    const page = await bench.open('#/tasks?status=failed&topic=');
    await seen(page.getByRole('heading', { name: '1 task', exact: true }));
    await page.getByRole('button', { name: 'Retry all matching…' }).click();
    await says(page.getByRole('dialog'), '1 matching task can be retried.');
  });

  test('leaves cancelled ones as they are, unless their status is chosen', async () => {
    const cancelled = { topic: 'remind', ...ended, status: 'cancelled', cancelledBy: 'ana' } as const;
    await seedTasks(bench.pool, [{ ...failed, topic: 'remind' }, cancelled, cancelled]);
    const page = await bench.open('#/tasks?topic=remind');
    await seen(page.getByRole('heading', { name: '3 tasks', exact: true }));
    await page.getByRole('button', { name: 'Retry all matching…' }).click();
    const dialog = page.getByRole('dialog');
    await says(dialog, '1 matching task can be retried.');
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('checkbox', { name: 'Cancelled' }).check();
    await seen(page.getByRole('heading', { name: '2 tasks', exact: true }));
    await page.getByRole('button', { name: 'Retry all matching…' }).click();
    await dialog.getByRole('button', { name: 'Retry 2 tasks' }).click();
    await says(dialog, 'Done: 2 tasks were retried.');
    expect(await retried('remind')).toBe(2);
  });

  async function retried(topic: string): Promise<number> {
    const { rowCount } = await bench.pool.query(
      `select from tasks where processo = $1 and id_inicial is not null and status = 'pendente'`,
      [topic],
    );
    return rowCount ?? 0;
  }
});

describe('of the tasks that are listed', () => {
  const box = (page: Page, id: string) =>
    page.getByRole('checkbox', { name: `Select task ${id}`, exact: true });

  test('those that were ticked are cancelled with a reason, or deleted for good', async () => {
    const { pool, app } = bench;
    const [failed = '', waiting = '', other = ''] = await seedTasks(pool, [
      { topic: 'tidy-up', status: 'failed', ...ended },
      { topic: 'tidy-up', due: 3_600, status: 'scheduled' },
      { topic: 'tidy-up' },
    ]);
    const page = await bench.open('#/tasks?topic=tidy-up');
    await page.getByLabel('Select all 3 shown').check();
    await box(page, other).uncheck();
    const several = page.getByRole('group', { name: 'Bulk actions' });
    await says(several.getByRole('status'), '2 selected');
    // Each for those only that it is for.
    await seen(several.getByRole('button', { name: 'Retry 1…' }));
    await several.getByRole('button', { name: 'Cancel 1…' }).click();
    const dialog = page.getByRole('dialog');
    await says(dialog.getByRole('status'), '1 of 1 selected can be cancelled.');
    await dialog.getByLabel(/^Reason/).fill('no longer wanted');
    await dialog.getByRole('button', { name: 'Cancel 1 task' }).click();
    await says(dialog.getByRole('status'), 'Done: 1 task was cancelled.');
    await dialog.getByRole('button', { name: 'Close' }).click();
    await says(row(page, new RegExp(waiting)), /Cancelled[^]*no longer wanted/);
    expect(await box(page, waiting).isChecked()).toBe(false);
    await box(page, failed).check();
    await box(page, waiting).check();
    await several.getByRole('button', { name: 'Delete 2…' }).click();
    const remove = dialog.getByRole('button', { name: 'Delete 2 tasks' });
    // Not by pressing one button too many.
    await remove.click();
    await seen(dialog.locator('input:invalid'));
    expect(app.told.map(({ action }) => action)).not.toContain('delete-all');
    await dialog.getByLabel('Delete them permanently').check();
    await remove.click();
    await says(dialog.getByRole('status'), 'Done: 2 tasks were deleted.');
    await dialog.getByRole('button', { name: 'Close' }).click();
    await seen(page.getByRole('heading', { name: '1 task', exact: true }));
    const { rows } = await pool.query(`select id::text as id from tasks where processo = 'tidy-up'`);
    expect(rows).toEqual([{ id: other }]);
  });

  test('what a dashboard may not do is not offered', async () => {
    const readOnly = await bench.start({ dashboard: { actions: ['cancel-all'] } });
    const id = await seedTask(bench.pool, { topic: 'tidy-shelf' });
    const page = await bench.open('#/tasks?topic=tidy-shelf', { url: readOnly.url });
    await seen(page.getByRole('button', { name: 'Cancel all matching…' }));
    await gone(page.getByRole('button', { name: 'Delete all matching…' }));
    await gone(page.getByRole('button', { name: 'Insert a task…' }));
    await box(page, id).check();
    expect(
      await page.getByRole('group', { name: 'Bulk actions' }).getByRole('button').allInnerTexts(),
    ).toEqual(['Cancel 1…', 'Clear selection']);
  });
});

test('a task is inserted, of which it is said whether its payload is JSON', async () => {
  const page = await bench.open('#/tasks');
  await page.getByRole('button', { name: 'Insert a task…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Insert a task' });
  const payload = dialog.getByLabel('Payload');
  await dialog.getByLabel('Topic', { exact: true }).fill('wrap-gift-by-hand');
  await payload.fill('{"order": 41');
  await says(dialog.getByRole('status'), /looks like JSON but is not valid/);
  await payload.fill('as it is');
  await says(dialog.getByRole('status'), 'stored as text');
  await payload.fill('{"order": 10000000000000000001}');
  await says(dialog.getByRole('status'), 'This is JSON.');
  await dialog.getByLabel('Delay', { exact: true }).fill('1.5');
  await dialog.getByLabel('Unit of the delay').selectOption('hours');
  await dialog.getByLabel('Priority').fill('80');
  await dialog.getByLabel('External key').fill('order-41');
  await dialog.getByRole('button', { name: 'Insert', exact: true }).click();
  await says(part(page, 'Attempts').getByRole('listitem'), /Attempt 1\s*Scheduled/);
  const { rows } = await bench.pool.query(
    `select payload, prioridade, chave_externa, data_hora - now() between interval '80 minutes' and '90 minutes' as "isLater"
     from tasks where processo = 'wrap-gift-by-hand'`,
  );
  expect(rows).toEqual([
    { payload: '{"order": 10000000000000000001}', prioridade: 80, chave_externa: 'order-41', isLater: true },
  ]);
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
