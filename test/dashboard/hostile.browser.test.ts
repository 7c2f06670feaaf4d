import type { Page } from 'playwright-core';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { subscribe } from '../support/subscriptions.js';
import { asShown, megabyte, nestedJson, nothingRan, ran, shortHostile } from './kit/hostile.js';
import { useDashboard } from './kit/dashboard-bench.js';
import { confirm, gone, part, says, seen } from './kit/seen.js';
import { seedHistory, seedTask, seedTasks, seedWorker } from './kit/seed.js';

const bench = useDashboard({ webhooks: true });
const opened: Page[] = [];

beforeAll(async () => {
  const { pool, database } = bench;
  await subscribe(
    database,
    shortHostile.map((text) => ({
      id: text,
      processo: text,
      grupo_empresarial: text.slice(0, 40),
      url: text,
    })),
  );
  await pool.query(
    `insert into tasks_webhook (subscriber_id, deactivated_at, deactivated_for)
     select id, now(), id from tasks_subscriber`,
  );
  const workerId = await seedWorker(pool);
  await seedTasks(
    pool,
    shortHostile.flatMap((text) => [
      {
        topic: text,
        key: text,
        group: text.slice(0, 40),
        origin: text,
        destination: text,
        message: text,
        error: text,
        result: JSON.stringify({ [text]: text }),
        metadata: { [text]: text },
        payload: JSON.stringify({ [text]: text }),
        status: 'failed' as const,
        due: -60,
        started: -59,
        finished: -58,
      },
      { topic: text, due: -120 },
      { topic: text, status: 'processing' as const, workerId, due: -20, started: -19 },
      { topic: text, due: 900 },
    ]),
  );
  for (const text of shortHostile) {
    await seedHistory(pool, `t:${text}`, new Map([[2, { succeeded: 1, failed: 12, unhandled: 2 }]]));
    await seedHistory(pool, `s:${text}`, new Map([[3, { succeeded: 4 }]]));
  }
});

async function open(hash: string): Promise<Page> {
  const page = await bench.open(hash);
  opened.push(page);
  return page;
}

afterEach(async () => {
  for (const page of opened.splice(0)) {
    const found = JSON.stringify(await page.evaluate(ran));
    if (found !== JSON.stringify(nothingRan)) throw new Error(`Something was read as markup: ${found}`);
  }
});

test('topics and subscriptions show as text in the overview, and every control still works', async () => {
  const page = await open('');

  await part(page, 'Needs attention')
    .getByText(/^\d+ more$/)
    .click();
  await seen(part(page, 'Needs attention').getByRole('listitem').nth(shortHostile.length));
  const text = await page.getByRole('main').innerText();
  for (const one of shortHostile.filter((each) => each.trim() !== '')) expect(text).toContain(asShown(one));
  expect(text).toContain('No worker handles " ":');
  for (const unseen of ['\u202e', '\u2066', '\u001b']) expect(text).not.toContain(unseen);
  // A topic and a subscription have that name.
  await page
    .getByRole('button', { name: `Pause ${shortHostile[0]}`, exact: true })
    .first()
    .click();
  await says(page.getByRole('dialog'), shortHostile[0] ?? '');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Last day' }).click();
  const [narrow] = await page
    .getByRole('rowheader')
    .getByRole('button', { name: shortHostile[1] ?? '' })
    .all();
  await narrow?.click();
  await seen(page.getByRole('button', { name: 'Show all routes again' }));
});

test('messages, keys and groups show as text in the list, and are found by', async () => {
  const page = await open('#/tasks?status=failed');
  await seen(page.getByRole('heading', { name: `${shortHostile.length} tasks`, exact: true }));
  const text = await page.getByRole('table').innerText();
  for (const one of shortHostile.filter((each) => each.trim() !== '')) expect(text).toContain(asShown(one));
  for (const one of shortHostile.slice(0, 3)) {
    await page.getByRole('combobox', { name: 'Topic' }).fill(one);
    await page.keyboard.press('Enter');
    await seen(page.getByRole('heading', { name: '1 task', exact: true }));
  }
});

test('everything of a task shows as text', async () => {
  const { rows } = await bench.pool.query<{ id: string }>(
    `select id from tasks where status = 'falha' order by id`,
  );
  expect(rows).toHaveLength(shortHostile.length);
  const page = await open(`#/tasks/${rows[0]?.id}`);
  for (const [index, { id }] of rows.entries()) {
    const text = shortHostile[index] ?? '';
    await page.goto(`${bench.app.url}#/tasks/${id}`);
    await seen(page.getByRole('heading', { name: `Task ${id}`, exact: true }));
    await page.getByText('Error with stack').click();
    await page.getByText('Result', { exact: true }).click();
    await page.getByRole('button', { name: 'Show payload' }).click();
    await seen(page.getByRole('tree', { name: 'Payload' }).getByRole('treeitem').nth(1));
    const main = await page.getByRole('main').innerText();
    expect(main.split(asShown(text)).length).toBeGreaterThan(6);
    expect(await page.evaluate(ran)).toEqual(nothingRan);
  }
});

test('so do a subscription, and the address of its endpoint; it can be acted on', async () => {
  const page = await open('#/subscriptions');
  await seen(page.getByRole('row').nth(shortHostile.length));
  const bad = shortHostile[1] ?? '';
  await page.getByRole('link', { name: bad, exact: true }).click();
  await seen(page.getByRole('heading', { name: bad, exact: true, level: 1 }));
  await says(page.getByRole('main'), 'Reason');
  await page.getByRole('button', { name: 'Edit' }).click();
  expect(await page.getByLabel('Topic', { exact: true }).inputValue()).toBe(bad);
  await page.getByRole('button', { name: 'Close' }).click();
  await confirm(page, page.getByRole('button', { name: /^Pause/ }), 'Pause');
  await seen(page.getByRole('button', { name: /^Resume/ }));
});

test('times that no clock shows are shown as such, and so is what lasts from or to one', async () => {
  const insert = `insert into tasks (processo, status, data_hora, iniciada_em, finalizada_em) values `;
  const { rows } = await bench.pool.query<{ id: string }>(
    `${insert} ('endless', 'agendada', 'infinity', null, null), ('endless', 'falha', '-infinity', now(), now()) returning id`,
  );
  const page = await open('#/tasks?topic=endless');
  const due = (id: string | undefined) => page.locator(`[data-task="${id}"]`);
  await says(due(rows[0]?.id), /Scheduled\s*endless\s*∞/);
  await says(due(rows[1]?.id), /Failed\s*endless\s*−∞/);
  await page.goto(`${bench.app.url}#/tasks/${rows[0]?.id}`);
  await says(page.getByRole('main').locator('.standing'), 'due ∞');
  await says(part(page, 'Attempts'), 'Due: ∞');
  await page.goto(`${bench.app.url}#/tasks/${rows[1]?.id}`);
  await says(part(page, 'Attempts'), /Due: −∞\s*Waited: ∞/);
});

test('a payload of a megabyte is cut and stays usable', async () => {
  const id = await seedTask(bench.pool, {
    topic: 'large',
    payload: JSON.stringify({ text: megabyte }),
    error: megabyte,
    result: megabyte,
  });
  const page = await open(`#/tasks/${id}`);
  await page.getByText('Error with stack').click();
  await page
    .getByRole('button', { name: /^Show all/ })
    .first()
    .click();
  await says(
    part(page, 'Attempts'),
    'The server sent only the first part: the whole text has 1,040,000 characters.',
  );
  await page.getByRole('button', { name: 'Show payload' }).click();
  await says(part(page, 'Payload'), /Cut: 200,000 of 1,0\d\d,\d\d\d characters/);
  await page.getByRole('button', { name: 'Show more' }).click();
  await page.getByRole('link', { name: 'Overview', exact: true }).click();
  await seen(page.getByRole('heading', { name: 'Overview', level: 1 }));
});

test('JSON of five thousand levels opens level by level', async () => {
  const id = await seedTask(bench.pool, { topic: 'deep', payload: nestedJson(5_000) });
  const page = await open(`#/tasks/${id}`);
  await page.getByRole('button', { name: 'Show payload' }).click();
  const items = page.getByRole('tree', { name: 'Payload' }).getByRole('treeitem');
  await items.first().focus();
  for (let level = 0; level < 40; level += 1) await page.keyboard.press('ArrowRight');
  await expect.poll(() => items.count()).toBeGreaterThan(15);
  await page.getByRole('button', { name: 'Raw text' }).click();
  await says(part(page, 'Payload'), '[[[[[[[[');
});

test('the server does not stand still for JSON as deep as a payload can be', async () => {
  const levels = 500_000;
  const id = await seedTask(bench.pool, {
    topic: 'deeper',
    payload: `${'['.repeat(levels)}${']'.repeat(levels)}`,
  });
  const answer = await fetch(`${bench.app.url}/api/tasks/${id}/payload`);
  expect(await answer.json()).toMatchObject({
    isJson: true,
    bytes: 2 * levels,
    payload: { length: 2 * levels },
  });
});

test('an array of fifty thousand entries shows a hundred at a time', async () => {
  const entries = Array.from({ length: 50_000 }, (_, n) => n % 10);
  const id = await seedTask(bench.pool, { topic: 'wide', payload: JSON.stringify(entries) });
  const page = await open(`#/tasks/${id}`);
  await page.getByRole('button', { name: 'Show payload' }).click();
  const items = page.getByRole('tree', { name: 'Payload' }).getByRole('treeitem');
  await says(items, '[ 50,000 values ]');
  expect(await items.count()).toBe(102);
  await page.getByText('Show 100 more of 49,900').click();
  await expect.poll(() => items.count()).toBe(202);
  await gone(page.getByRole('alert'));
});
