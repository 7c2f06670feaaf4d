import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { subscribe } from '../support/subscriptions.js';
import { startReceiver } from '../webhooks/kit/receivers.js';
import { useDashboard } from './kit/dashboard-bench.js';
import { confirm, gone, part, row, says, seen } from './kit/seen.js';
import { seedHistory, seedTask, seedTasks } from './kit/seed.js';

const bench = useDashboard({ webhooks: { allowedAddresses: ['127.0.0.1'] } });

beforeAll(async () => {
  const { pool, database, app } = bench;
  await subscribe(database, [
    { id: 'search-index' },
    { id: 'stock' },
    {
      id: 'crm',
      url: 'https://crm.example/orders?key=in-query',
      http_method: 'PUT',
      headers: { 'X-Api-Key': 'in-header', Accept: 'application/json' },
      tenant: 3,
      grupo_empresarial: 'north',
    },
    { id: 'erp', url: 'https://erp.example/in', http_method: 'POST', ativo: false },
    { id: 'legacy', url: 'https://hook:pass-in-url@old.example/in', ativo: false },
    { id: 'mail', url: 'https://mail.example/in' },
  ]);
  await pool.query(
    `insert into tasks_webhook (subscriber_id, secrets, failures, failing_since, last_success_at, open_until,
       deactivated_at, deactivated_for)
     values ('crm', '[]', 6, now() - interval '9 hours', now() - interval '10 hours', now() + interval '8 minutes', null, null),
       ('erp', '[]', 40, now() - interval '6 days', null, null, now() - interval '1 hour', 'it answered 410 Gone'),
       ('mail', '[]', 2, now() - interval '1 minute', null, null, null, null)`,
  );
  await app.admin.pause({ subscriptionId: 'stock' });
  await seedTasks(pool, [
    { topic: 'order-placed', subscriptionId: 'stock', due: -20 },
    { topic: 'order-placed', subscriptionId: 'stock', due: -10 },
    {
      topic: 'order-placed',
      subscriptionId: 'crm',
      status: 'failed',
      message: 'HTTP 503',
      due: -40,
      started: -39,
      finished: -38,
    },
  ]);
  await seedHistory(
    pool,
    's:crm',
    new Map([[2, { succeeded: 1_200, failed: 6, buried: 1, waitsMs: [180, 190, 200] }]]),
  );
});

const facts = (page: Page, panel: string, name: string) =>
  part(page, panel).locator('dl > div').filter({ hasText: name }).locator('dd');

test('the list says how each subscription stands and does, and can be searched', async () => {
  const page = await bench.open('#/subscriptions');
  await says(row(page, 'search-index'), /order-placed\s*Active\s*code in workers/);
  await says(row(page, 'stock'), /Paused[^]*2$/);
  await says(row(page, 'crm'), /Resting[^]*crm\.example[^]*1,200[^]*6/);
  await says(row(page, 'erp'), 'Inactive');
  await says(row(page, 'legacy'), 'old.example');
  expect(await page.content()).not.toContain('pass-in-url');
  await says(row(page, 'mail'), 'Failing');
  const search = page.getByRole('searchbox', { name: 'Find' });
  await search.fill('CRM.example');
  await gone(row(page, 'stock'));
  await seen(row(page, 'crm'));
  await search.fill('nobody');
  await says(page.getByRole('main'), 'No subscription matches.');
});

test('one shows its fields without secrets, its last hour, its endpoint and its deliveries', async () => {
  const page = await bench.open('#/subscriptions');
  await page.getByRole('link', { name: 'crm', exact: true }).click();
  await seen(page.getByRole('heading', { name: 'crm', level: 1 }));
  await says(facts(page, 'Subscription', 'Method'), 'PUT');
  await says(facts(page, 'Subscription', 'Tenant'), '3');
  await says(facts(page, 'Subscription', 'Headers'), 'X-Api-Key, Accept (values are not shown)');
  await says(facts(page, 'Last hour', 'Succeeded'), '1,200');
  await says(facts(page, 'Last hour', 'Wait p95'), /\d+\s?ms/);
  await says(facts(page, 'Endpoint', 'Failures in a row'), '6');
  await says(facts(page, 'Endpoint', 'Failing since'), /9\s?h\w*( \d+\s?m\w*)? ago/);
  await seen(facts(page, 'Endpoint', 'Rests until'));
  await says(part(page, 'Last deliveries').getByRole('row'), 'HTTP 503');
  const html = await page.content();
  for (const secret of ['in-query', 'in-header']) expect(html).not.toContain(secret);
});

describe('it is edited', () => {
  test('in what was changed only', async () => {
    const { pool, app } = bench;
    const page = await bench.open('#/subscriptions/crm');
    const sent: unknown[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/edit-subscription')) sent.push(request.postDataJSON());
    });
    const edit = page.getByRole('button', { name: 'Edit' });
    const save = page.getByRole('button', { name: 'Save' });
    await edit.click();
    await save.click();
    await says(page.getByRole('dialog'), 'Nothing was changed.');
    await page.getByLabel('Group').fill('south');
    await page.getByLabel('Tenant').fill('4');
    await save.click();
    await says(facts(page, 'Subscription', 'Group'), 'south');
    expect(sent).toEqual([{ id: 'crm', tenant: '4', group: 'south' }]);
    await edit.click();
    await page.getByLabel('Replace all headers').check();
    await page.getByLabel('Value of header 1').fill('new-key');
    await save.click();
    await says(page.getByRole('dialog'), 'Header Accept has no value. Enter a value, or remove the header.');
    await page.getByRole('button', { name: 'Remove header 2' }).click();
    await page.getByLabel('URL', { exact: true }).fill('https://crm.example/v2?key=other');
    await save.click();
    await says(facts(page, 'Subscription', 'URL'), 'crm.example/v2');
    const { rows } = await pool.query(`select * from tasks_subscriber where id = 'crm'`);
    expect(rows).toMatchObject([
      {
        processo: 'order-placed',
        tenant: '4',
        grupo_empresarial: 'south',
        http_method: 'PUT',
        url: 'https://crm.example/v2?key=other',
        headers: { 'X-Api-Key': 'new-key' },
        ativo: true,
      },
    ]);
    expect(JSON.stringify(app.told)).not.toMatch(/new-key|key=other/);
  });

  test('not to what is refused: the form stays and says why', async () => {
    const page = await bench.open('#/subscriptions/mail');
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Tenant').fill('blue');
    await page.getByRole('button', { name: 'Save' }).click();
    await says(page.getByRole('dialog'), /tenant.*blue/i);
    expect(await page.getByLabel('Tenant').inputValue()).toBe('blue');
    expect(bench.takeFaults().join('\n')).toContain('400 (Bad Request)');
    await page.getByRole('button', { name: 'Close' }).click();
    const { rows } = await bench.pool.query(`select tenant from tasks_subscriber where id = 'mail'`);
    expect(rows).toEqual([{ tenant: null }]);
  });
});

test('one is added, and removed again', async () => {
  const { pool } = bench;
  const page = await bench.open('#/subscriptions');
  await page.getByRole('button', { name: 'Add a subscription…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add a subscription' });
  await dialog.getByLabel('Id', { exact: true }).fill('fresh');
  await dialog.getByLabel('Topic').fill('order-placed');
  await gone(dialog.getByLabel('Method'));
  await dialog.getByLabel('URL').fill('https://fresh.example/in');
  await dialog.getByLabel('Method').fill('PUT');
  await dialog.getByRole('button', { name: 'Add a header' }).click();
  await dialog.getByLabel('Name of header 1').fill('X-Api-Key');
  await dialog.getByLabel('Value of header 1').fill('new-key');
  await dialog.getByLabel('Active').uncheck();
  await dialog.getByRole('button', { name: 'Add', exact: true }).click();
  await seen(page.getByRole('heading', { name: 'fresh', level: 1 }));
  const subscription = `select processo, url, http_method, headers, ativo from tasks_subscriber where id = 'fresh'`;
  expect((await pool.query(subscription)).rows).toEqual([
    {
      processo: 'order-placed',
      url: 'https://fresh.example/in',
      http_method: 'PUT',
      headers: { 'X-Api-Key': 'new-key' },
      ativo: false,
    },
  ]);
  await confirm(page, page.getByRole('button', { name: 'Remove' }), 'Remove');
  await seen(page.getByRole('heading', { name: 'Subscriptions', level: 1 }));
  expect((await pool.query(subscription)).rows).toEqual([]);
});

test('one that a handler declares is deactivated instead of removed', async () => {
  const { pool, database } = bench;
  await subscribe(database, [{ id: 'declared' }]);
  const page = await bench.open('#/subscriptions/declared');
  // As where a handler was started since the page was loaded.
  await page.route('**/api/actions/remove-subscription', (route) =>
    route.fulfill({ status: 409, json: { code: 'SUBSCRIPTION_DECLARED', message: 'a handler declares it' } }),
  );
  await page.getByRole('button', { name: 'Remove' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Remove' }).click();
  await says(dialog, 'A handler declares declared, so it would be created again at the next start.');
  expect(bench.takeFaults().join('\n')).toContain('409 (Conflict)');
  await dialog.getByRole('button', { name: 'Deactivate' }).click();
  await gone(dialog);
  await says(page.getByRole('main').locator('p'), /^Inactive/);
  const { rows } = await pool.query(`select ativo from tasks_subscriber where id = 'declared'`);
  expect(rows).toEqual([{ ativo: false }]);
});

test('it is paused and resumed', async () => {
  const page = await bench.open('#/subscriptions/search-index');
  const standing = page
    .getByRole('main')
    .locator('p')
    .filter({ hasText: /^(Active|Paused)/ });
  await confirm(page, page.getByRole('button', { name: /^Pause .*search-index/ }), 'Pause');
  await says(standing, /^Paused.*Deliveries wait/);
  await confirm(page, page.getByRole('button', { name: /^Resume .*search-index/ }), 'Resume');
  await says(standing, /^Active/);
  expect(bench.app.told.map(({ target }) => target)).toEqual([
    'subscription search-index',
    'resume subscription search-index',
  ]);
});

test('one that was deactivated says why, and is activated again', async () => {
  const page = await bench.open('#/subscriptions/erp');
  await says(facts(page, 'Endpoint', 'Reason'), 'it answered 410 Gone');
  await confirm(page, page.getByRole('button', { name: 'Activate' }), 'Activate');
  await seen(page.getByRole('button', { name: 'Deactivate' }));
  await gone(facts(page, 'Endpoint', 'Reason'));
  const { rows } = await bench.pool.query(
    `select ativo, deactivated_for, failures from tasks_subscriber join tasks_webhook on subscriber_id = id where id = 'erp'`,
  );
  expect(rows).toEqual([{ ativo: true, deactivated_for: null, failures: 0 }]);
  await confirm(page, page.getByRole('button', { name: 'Deactivate' }), 'Deactivate');
  await says(page.getByRole('main').locator('p'), /^Inactive/);
});

test('a test ping shows what the endpoint answered, and makes no task', async () => {
  let status = 204;
  const receiver = await startReceiver((_request, response) => response.writeHead(status).end());
  await subscribe(bench.database, [{ id: 'ping', url: receiver.url, http_method: 'POST' }]);
  const page = await bench.open('#/subscriptions/ping');
  await page.getByRole('button', { name: 'Test ping' }).click();
  const dialog = page.getByRole('dialog');
  expect(receiver.requests).toHaveLength(0);
  await dialog.getByRole('button', { name: 'Send' }).click();

  await says(dialog, /The endpoint accepted it\.\s*Status 204 · after/);
  status = 500;
  await dialog.getByRole('button', { name: 'Send again' }).click();
  await says(dialog, /The endpoint did not accept it\.\s*Status 500/);
  expect(receiver.requests).toHaveLength(2);
  await page.keyboard.press('Escape');
  await gone(dialog);
  const { rowCount } = await bench.pool.query(`select from tasks where subscriber_id = 'ping'`);
  expect(rowCount).toBe(0);
  expect(bench.app.told).toMatchObject([{ action: 'ping', target: 'ping' }, { action: 'ping' }]);
});

test('a signing secret is made after asking, and shown once', async () => {
  await subscribe(bench.database, [{ id: 'signed', url: 'https://example.invalid/', http_method: 'POST' }]);
  const page = await bench.open('#/subscriptions/signed');
  await page.getByRole('button', { name: 'New secret' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Create secret' }).click();
  const field = page.getByRole('dialog').getByLabel(/^The secret/);
  await seen(field);
  const secret = await field.inputValue();
  expect(secret).toMatch(/^whsec_.{44}$/);
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
  await expect.poll(() => page.content()).not.toContain(secret);
  const { rows } = await bench.pool.query<{ secrets: string }>(
    `select secrets::text as secrets from tasks_webhook where subscriber_id = 'signed'`,
  );
  expect(rows[0]?.secrets).toContain(secret);
  expect(bench.app.told).toMatchObject([{ action: 'create-secret', target: 'signed' }]);
});

test('one that is not there is said so; its address keeps any character', async () => {
  const id = 'a/b?c#d %2F';
  await subscribe(bench.database, [{ id }]);
  await seedTask(bench.pool, { topic: 'order-placed', subscriptionId: id });
  const page = await bench.open('#/subscriptions');
  await page.getByRole('link', { name: id, exact: true }).click();
  await seen(page.getByRole('heading', { name: id, exact: true, level: 1 }));
  await says(facts(page, 'Subscription', 'Topic'), 'order-placed');
  await page.goto(`${bench.app.url}#/subscriptions/nobody`);
  await says(page.getByRole('alert'), /nobody/);
  expect(bench.takeFaults().join('\n')).toContain('404 (Not Found)');
});
