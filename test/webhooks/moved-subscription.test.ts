import { afterEach, beforeEach, expect, test } from 'vitest';
import { getQueueToken, QueueAdmin } from '../../lib/index.js';
import { act } from '../dashboard/kit/ask.js';
import { startDashboardApp, type DashboardApp } from '../dashboard/kit/dashboard-app.js';
import { useQueue } from '../worker/queue-bench.js';
import { startReceiver, type Receiver } from './kit/receivers.js';
import { testOnPostgres } from '../support/run-database.js';

const bench = useQueue();
let app: DashboardApp;
let old: Receiver;
let foreign: Receiver;

beforeEach(async () => {
  old = await startReceiver((_request, response) => response.writeHead(204).end());
  foreign = await startReceiver((_request, response) => response.writeHead(204).end());
  app = await startDashboardApp(bench.database.url, { webhooks: { allowedAddresses: ['127.0.0.1'] } });
  await app.admin.subscriptions.add({
    id: 'crm',
    topic: 'placed',
    url: `${old.url}/hook`,
    headers: { 'x-key': 's3cret', accept: 'text/plain' },
  });
});
afterEach(async () => {
  await app.close();
  await bench.pool.query('truncate tasks_webhook, tasks_subscriber');
});

const edit = (changes: object) => act(app.url, 'edit-subscription', { id: 'crm', ...changes });
const signatureAt = (receiver: Receiver): unknown => receiver.requests.at(-1)?.headers['webhook-signature'];

test('a URL alone does not take the headers to another origin, neither directly nor by a stop without URL', async () => {
  const moved = await edit({ url: `${foreign.url}/hook` });
  expect(moved).toMatchObject({ status: 400, body: { code: 'INPUT_INVALID' } });
  expect(moved.body['message']).toMatch(/x-key.*give all headers together with the URL/);
  expect(moved.text).not.toContain('s3cret');
  expect((await edit({ url: null })).status).toBe(200);
  expect((await edit({ url: `${foreign.url}/hook` })).status).toBe(400);
  expect((await edit({ url: `${foreign.url}/hook`, headers: { 'x-key': 'new' } })).status).toBe(200);
  expect(await app.webhooks.ping('crm')).toMatchObject({ ok: true });
  expect(foreign.requests.at(-1)?.headers['x-key']).toBe('new');
  expect((await edit({ url: `${foreign.url}/other` })).status).toBe(200);
});

testOnPostgres(
  'what signs for one origin never signs for another, also with a secret that was made for none',
  async () => {
    await app.webhooks.createSecret('crm');
    await bench.pool.query(`update tasks_webhook set secrets = jsonb_build_array((secrets -> 0) - 'origin')`);
    await app.webhooks.ping('crm');
    expect(signatureAt(old)).toMatch(/^v1,/);
    expect((await edit({ url: `${foreign.url}/hook`, headers: null })).status).toBe(200);
    const { rows } = await bench.pool.query<{ origin: string }>(
      `select s ->> 'origin' as origin from tasks_webhook, jsonb_array_elements(secrets) s`,
    );
    expect(rows.map(({ origin }) => origin)).toEqual([new URL(foreign.url).origin, new URL(old.url).origin]);
    await app.webhooks.ping('crm');
    // Signed, by one secret only: the new one, which nobody knows yet.
    expect(String(signatureAt(foreign)).split(' ')).toHaveLength(1);
    const secret = await app.webhooks.createSecret('crm');
    expect(secret).toMatch(/^whsec_/);
    await edit({ url: `${old.url}/hook` });
    await app.webhooks.ping('crm');
    expect(String(signatureAt(old)).split(' ')).toHaveLength(1);
  },
);

test('a URL that SQL has changed gets nothing until it has a secret of its own', async () => {
  await app.webhooks.createSecret('crm');
  await bench.pool.query('update tasks_subscriber set url = $1', [`${foreign.url}/hook`]);
  expect(await app.webhooks.ping('crm')).toMatchObject({
    ok: false,
    failure: expect.stringContaining('the subscription has no secret for') as unknown,
  });
  expect(foreign.requests).toHaveLength(0);
  await app.webhooks.createSecret('crm');
  expect(await app.webhooks.ping('crm')).toMatchObject({ ok: true });
});

test('a process without webhooks does not move a subscription that is signed', async () => {
  await app.webhooks.createSecret('crm');
  const { app: producer } = await bench.start({ worker: false, webhooks: false });
  const { subscriptions } = producer.get<QueueAdmin>(getQueueToken(undefined, QueueAdmin));
  await expect(subscriptions.update('crm', { url: foreign.url, headers: null })).rejects.toMatchObject({
    code: 'INPUT_INVALID',
    message: expect.stringContaining('are signed') as unknown,
  });
  expect(await subscriptions.update('crm', { url: `${old.url}/other` })).toMatchObject({
    url: `${old.url}/other`,
  });
});
