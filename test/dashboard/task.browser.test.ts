import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { subscribe } from '../support/subscriptions.js';
import { useDashboard } from './kit/dashboard-bench.js';
import { confirm, gone, part, row, says, seen } from './kit/seen.js';
import { seedTask, seedTasks } from './kit/seed.js';

const bench = useDashboard({ dashboard: { redact: ['cpf', 'customer.*.number'], actor: () => 'ana' } });

beforeAll(async () => {
  await subscribe(bench.database, [{ id: 'crm' }, { id: 'search-index' }]);
});

/** What of the page has the keyboard, by its text: that of the document would be all of it. */
const focused = (page: Page): Promise<string> => page.evaluate('document.activeElement.textContent');

const open = (id: string): Promise<Page> => bench.open(`#/tasks/${id}`);
const facts = (page: Page, name: string) =>
  page.getByRole('main').locator('dl > div').filter({ hasText: name }).locator('dd');

test('all attempts stand one after the other, with what they said and when the next one is due', async () => {
  const { pool } = bench;
  const firstId = await seedTask(pool, {
    topic: 'charge-card',
    status: 'failed',
    retried: true,
    due: -600,
    started: -590,
    finished: -588,
    message: 'the bank did not answer',
    error: 'Error: the bank did not answer\n    at charge (shop.js:7)',
    key: 'order-41',
    tenant: 12,
    priority: 80,
    metadata: { traceparent: '00-abc-def-01', token: 't0k' },
  });
  const id = await seedTask(pool, {
    topic: 'charge-card',
    status: 'failed',
    attempt: 2,
    firstId,
    due: -300,
    started: -300,
    finished: -299.6,
    next: 300,
    message: 'the bank said no',
    result: '{"asked":1}',
    key: 'order-41',
    tenant: 12,
    priority: 80,
  });
  // By the id of any attempt: it is called by the task's number anyway.
  const page = await open(id);
  await seen(page.getByRole('heading', { name: `Task ${firstId}`, exact: true, level: 1 }));
  expect(await page.title()).toBe(`Task ${firstId} · Tarefa`);
  const attempts = part(page, 'Attempts').getByRole('listitem');
  await says(attempts, 'Next attempt due');
  const said = await attempts.allInnerTexts();
  expect(said).toHaveLength(3);
  expect(said[0]).toMatch(new RegExp(`Attempt 1[^]*Failed[^]*${firstId}[^]*the bank did not answer`));
  expect(said[0]).toMatch(/Waited: 10\s?s[^]*Ran: 2\s?s/);
  expect(said[1]).toMatch(new RegExp(`Attempt 2[^]*${id}[^]*Ran: 400\\s?ms[^]*the bank said no`));
  await says(page.getByRole('main'), /next attempt in (5\s?m|4\s?m)/);
  // A line of text takes a line's room, so that nothing jumps once it is seen.
  const message = await attempts.nth(1).locator('pre').first().boundingBox();
  expect(message?.height).toBeLessThan(60);
  const stack = attempts.first().getByText('at charge (shop.js:7)');
  expect(await stack.isVisible()).toBe(false);
  await attempts.first().getByText('Error with stack').click();
  await seen(stack);
  await attempts.nth(1).getByText('Result').click();
  await seen(attempts.nth(1).getByText('{"asked":1}'));
  await says(facts(page, 'External key'), 'order-41');
  await says(facts(page, 'Priority'), '80');
  await facts(page, 'Tenant').getByRole('link', { name: '12' }).click();
  await seen(page.getByRole('heading', { name: '1 task', exact: true }));
  const listed = row(page, new RegExp(`^${firstId} attempt 2 · ${id}$`));
  await seen(listed.getByRole('link', { name: firstId, exact: true }));
  await listed.getByRole('link', { name: firstId, exact: true }).click();
  await page.getByRole('button', { name: 'Retry', exact: true }).click();
  await seen(page.getByRole('dialog', { name: `Retry task ${firstId}?` }));
});

describe('the payload', () => {
  const payload = {
    order: { id: 41, total: 1_999 },
    customer: { cards: { number: '4111111111111111' }, cpf: '123.456.789-09', name: 'Ana' },
    password: 'hunter2',
    lines: Array.from({ length: 230 }, (_, n) => ({ sku: `sku-${n}` })),
  };

  test('is read when asked for, without its secrets, and who looked is told', async () => {
    const id = await seedTask(bench.pool, { topic: 'place-order', payload: JSON.stringify(payload) });
    const page = await open(id);
    const section = part(page, 'Payload');
    expect(await page.content()).not.toContain('hunter2');
    expect(bench.app.told).toEqual([]);
    await section.getByRole('button', { name: 'Show payload' }).click();
    await seen(section.getByText('3 values redacted'));
    expect(bench.app.told).toEqual([
      { action: 'show-payload', target: id, actor: 'ana', refused: undefined },
    ]);
    const items = section.getByRole('treeitem');
    await items.getByText('customer', { exact: true }).click();
    await says(items, /^cpf: "\[redacted\]"/);
    await says(items, /^password: "\[redacted\]"/);
    await section.getByRole('button', { name: 'Raw text' }).click();
    await seen(section.getByText('"name":"Ana"'));
    const html = await page.content();
    for (const secret of ['hunter2', '4111111111111111', '123.456.789-09'])
      expect(html).not.toContain(secret);
  });

  test('has every digit of its numbers', async () => {
    const written = '{"id":1970670598291982290,"price":1.10,"most":1e400,"list":[12345678901234567890]}';
    const id = await seedTask(bench.pool, { topic: 'place-order', payload: written });
    const page = await open(id);
    await page.getByRole('button', { name: 'Show payload' }).click();
    const items = page.getByRole('tree', { name: 'Payload' }).getByRole('treeitem');
    await says(items, /^id: 1970670598291982290$/);
    await says(items, /^price: 1\.10$/);
    await says(items, /^most: 1e400$/);
    await items.getByText('list', { exact: true }).click();
    await says(items, /^0: 12345678901234567890$/);
  });

  test('is walked through with the arrow keys, a hundred values at a time', async () => {
    const id = await seedTask(bench.pool, { topic: 'place-order', payload: JSON.stringify(payload) });
    const page = await open(id);
    await page.getByRole('button', { name: 'Show payload' }).click();
    const tree = page.getByRole('tree', { name: 'Payload' });
    const items = tree.getByRole('treeitem');
    await tree.getByRole('treeitem').first().focus();
    await page.keyboard.press('End');
    await seen(tree.locator('[role="treeitem"]:focus', { hasText: 'lines' }));
    await page.keyboard.press('ArrowRight');
    // The root, its four fields, a hundred lines and what shows the rest.
    expect(await items.count()).toBe(1 + 4 + 100 + 1);
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    expect(await items.count()).toBe(1 + 4 + 200 + 1);
    await says(tree.locator('[role="treeitem"]:focus'), '100:');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    await says(tree.locator('[role="treeitem"]:focus'), /^lines/);
    expect(await tree.getByText('sku').count()).toBe(0);
  });

  test('that is none, no JSON, or too large to be looked at is told apart', async () => {
    const ids = await seedTasks(bench.pool, [
      { topic: 'a' },
      { topic: 'a', payload: 'plain <b>text</b>' },
      { topic: 'a', payload: JSON.stringify({ text: 'x'.repeat(1_100_000) }) },
    ]);
    for (const [index, words] of [
      'The task has no payload.',
      /17 bytes\s*plain <b>text<\/b>/,
      /too large to show here: 1\.\d MB/,
    ].entries()) {
      const page = await open(ids[index] ?? '');
      await page.getByRole('button', { name: 'Show payload' }).click();
      await says(part(page, 'Payload'), words);
    }
  });

  test('of a delivery is what was published; no dashboard shows it that was told not to', async () => {
    const envelope = {
      subscription: { headers: { authorization: 'Bearer x' } },
      publication: '{"order":41}',
    };
    const id = await seedTask(bench.pool, {
      topic: 'order-placed',
      subscriptionId: 'crm',
      publicationId: '1',
      payload: JSON.stringify(envelope),
    });
    const page = await open(id);
    await page.getByRole('button', { name: 'Show payload' }).click();
    await says(part(page, 'Payload').getByRole('treeitem'), 'order: 41');
    expect(await page.content()).not.toContain('Bearer');
    const silent = await bench.start({ dashboard: { payloads: false } });
    const other = await bench.open(`#/tasks/${id}`, { url: silent.url });
    await seen(part(other, 'Attempts'));
    await gone(other.getByRole('button', { name: 'Show payload' }));
    expect((await fetch(`${silent.url}/api/tasks/${id}/payload`)).status).toBe(403);
  });
});

describe('by hand, after asking, a task is', () => {
  const actions = (page: Page) => page.getByRole('group', { name: 'Actions' });
  const button = (page: Page, name: string) => actions(page).getByRole('button', { name, exact: true });

  test('retried', async () => {
    const id = await seedTask(bench.pool, {
      topic: 'send-receipt',
      status: 'failed',
      exhausted: true,
      due: -90,
      started: -80,
      finished: -70,
    });
    const page = await open(id);
    await says(page.getByRole('main'), 'ran out of attempts');
    expect(await actions(page).getByRole('button').allInnerTexts()).toEqual([
      'Retry',
      'Edit and retry…',
      'Delete',
    ]);
    await confirm(page, button(page, 'Retry'), 'Retry');
    // It starts over: it has all its attempts again.
    await says(part(page, 'Attempts').getByRole('listitem').nth(1), /Attempt 1\s*Pending/);
    await says(page.getByRole('status'), 'A new attempt was created.');
    expect(bench.app.told).toEqual([{ action: 'retry', target: id, actor: 'ana', refused: undefined }]);
  });

  test('retried with another payload, in which what is redacted stays', async () => {
    const { pool, app } = bench;
    const id = await seedTask(pool, {
      topic: 'send-receipt',
      status: 'failed',
      exhausted: true,
      payload: '{"to":"ana@exmaple.com","password":"hunter2","tags":[],"lines":[{"sku":"{a, b: \\"c\\"}"}]}',
      due: -90,
      started: -80,
      finished: -70,
    });
    const page = await open(id);
    await button(page, 'Edit and retry…').click();
    const dialog = page.getByRole('dialog');
    const field = dialog.getByLabel('Payload');
    const shown = [
      '{',
      '  "to": "ana@exmaple.com",',
      '  "password": "[redacted]",',
      '  "tags": [],',
      '  "lines": [',
      '    {',
      '      "sku": "{a, b: \\"c\\"}"',
      '    }',
      '  ]',
      '}',
    ].join('\n');
    await field.waitFor();
    expect(await field.inputValue()).toBe(shown);
    await field.fill(shown.replace('exmaple', 'example'));
    await dialog.getByLabel(/^Reason/).fill('a typo');
    await dialog.getByRole('button', { name: 'Retry with this payload' }).click();
    await says(part(page, 'Attempts').getByRole('listitem').nth(1), 'Pending');
    expect(await focused(page)).toBe(`Task ${id}`);
    const { rows } = await pool.query<{ payload: string }>(
      `select payload from tasks where id_inicial = $1`,
      [id],
    );
    expect(JSON.parse(rows[0]?.payload ?? '')).toEqual({
      to: 'ana@example.com',
      password: 'hunter2',
      tags: [],
      lines: [{ sku: '{a, b: "c"}' }],
    });
    expect(app.told).toMatchObject([
      { action: 'show-payload', target: id },
      { action: 'retry-edited', target: id },
    ]);
  });

  test('deleted, which ends at the list', async () => {
    const id = await seedTask(bench.pool, { topic: 'send-survey' });
    const page = await open(id);
    await confirm(page, button(page, 'Delete'), 'Delete');
    await seen(page.getByRole('heading', { name: 'Tasks', level: 1 }));
    const { rowCount } = await bench.pool.query('select from tasks where id = $1', [id]);
    expect(rowCount).toBe(0);
  });

  test('cancelled, with a reason', async () => {
    const id = await seedTask(bench.pool, { topic: 'send-survey' });
    const page = await open(id);
    await button(page, 'Cancel task').click();
    await page.getByLabel('Reason (optional, stored as the message)').fill('the customer asked');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel task' }).click();
    await says(part(page, 'Attempts').getByRole('listitem'), /Cancelled[^]*the customer asked/);
    expect(await focused(page)).toBe(`Task ${id}`);
    expect(bench.app.told).toMatchObject([{ action: 'cancel', target: id }]);
  });

  test('cancelled: who did it is shown, and it can be retried', async () => {
    const cancelled = {
      status: 'cancelled',
      cancelledBy: 'ana',
      message: 'cancelled by ana',
      finished: -5,
    } as const;
    const id = await seedTask(bench.pool, { topic: 'send-survey', ...cancelled });
    const page = await open(id);
    await says(page.getByRole('main'), /Cancelled by\s*ana/);
    await confirm(page, button(page, 'Retry'), 'Retry');
    await says(part(page, 'Attempts').getByRole('listitem'), /Pending/);
    expect(bench.app.told).toMatchObject([{ action: 'retry', target: id }]);
  });

  test('buried: its dead task is shown, which leads back', async () => {
    const id = await seedTask(bench.pool, { topic: 'reserve-stock' });
    const page = await open(id);
    await button(page, 'Bury').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Bury' }).click();
    const live = part(page, 'The task that ran out of attempts');
    await seen(live.getByRole('link', { name: id, exact: true }));
    await says(page.getByRole('main'), /Dead\s*reserve-stock/);
    await live.getByRole('link', { name: id, exact: true }).click();
    await says(part(page, 'Its dead task').getByRole('row'), /Pending\s*Dead/);
    await says(part(page, 'Attempts').getByRole('listitem'), 'buried by ana');
  });

  test('run now', async () => {
    const id = await seedTask(bench.pool, { topic: 'send-survey', due: 86_400 });
    const page = await open(id);
    await says(page.getByRole('main'), /due in (24\s?h|1\s?d)/);
    await confirm(page, button(page, 'Run now'), 'Run now');
    await says(page.getByRole('main').locator('p'), /^Pending/);
    await gone(button(page, 'Run now'));
    expect(await focused(page)).toBe(`Task ${id}`);
  });

  test('not touched when it has changed meanwhile: the dialog says why and stays', async () => {
    const id = await seedTask(bench.pool, { topic: 'send-survey' });
    const page = await open(id);
    await button(page, 'Cancel task').click();
    await page.getByLabel('Reason (optional, stored as the message)').fill('too late');
    await bench.pool.query(
      `update tasks set status = 'sucesso', finalizada_em = now(), iniciada_em = now() where id = $1`,
      [id],
    );
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Cancel task' }).click();
    await says(dialog, new RegExp(`${id}.*succeeded`));
    expect(await page.getByLabel('Reason (optional, stored as the message)').inputValue()).toBe('too late');
    expect(bench.takeFaults().join('\n')).toContain('409 (Conflict)');
    expect(bench.app.told).toMatchObject([
      { action: 'cancel', refused: expect.stringContaining('succeeded') },
    ]);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await gone(dialog);
  });
});

test('a publication leads to its deliveries, each to its publication and to the others', async () => {
  const { pool } = bench;
  const ended = { status: 'succeeded', due: -30, started: -29, finished: -28 } as const;
  const publicationId = await seedTask(pool, { topic: 'order-placed', publication: true, ...ended });
  const delivery = { topic: 'order-placed', publicationId, ...ended };
  const [first = '', second = ''] = await seedTasks(pool, [
    { ...delivery, subscriptionId: 'crm' },
    { ...delivery, subscriptionId: 'search-index' },
  ]);
  const page = await open(publicationId);
  const deliveries = part(page, 'Deliveries');
  await says(deliveries.getByRole('row'), /order-placed.*crm/s);
  await deliveries.getByRole('link', { name: second, exact: true }).click();
  await seen(page.getByRole('heading', { name: `Task ${second}` }));
  await seen(
    part(page, 'Other deliveries of the publication').getByRole('link', { name: first, exact: true }),
  );
  await facts(page, 'Subscription').getByRole('link', { name: 'search-index' }).click();
  await seen(row(page, second));
  await page.goBack();
  await part(page, 'Created from this publication')
    .getByRole('link', { name: publicationId, exact: true })
    .click();
  await seen(part(page, 'Deliveries'));
});

test('one that runs is followed until it has ended', async () => {
  const id = await seedTask(bench.pool, { topic: 'print-label', status: 'processing', due: -9, started: -8 });
  const page = await open(id);
  await says(part(page, 'Attempts').getByRole('listitem'), /Running[^]*so far/);
  await gone(page.getByRole('button', { name: 'Delete' }));
  for (const progress of ['7 %', '42 %']) {
    await bench.pool.query('update tasks set mensagem = $2 where id = $1', [id, progress]);
    await says(part(page, 'Attempts').getByRole('listitem'), progress);
  }
  await bench.pool.query('update tasks set executor = 1 where id = $1', [id]);
  await confirm(page, page.getByRole('button', { name: 'Cancel task' }), 'Cancel task');
  await says(part(page, 'Attempts').getByRole('listitem'), /Running[^]*cancelled/);
  const { rows } = await bench.pool.query('select status, mensagem from tasks where id = $1', [id]);
  expect(rows).toEqual([{ status: 'processando', mensagem: 'cancelled by ana' }]);
  await bench.pool.query(`update tasks set status = 'sucesso', finalizada_em = now() where id = $1`, [id]);
  await says(part(page, 'Attempts').getByRole('listitem'), 'Succeeded');
});
