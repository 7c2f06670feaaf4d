import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { QueueAdmin, QueueWebhooks, verifySignature, type WebhookOptions } from '../../lib/index.js';
import type { QueueApp } from '../support/queue-app.js';
import { subscribe } from '../support/subscriptions.js';
import { until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';
import { startReceiver } from './kit/receivers.js';
import { testOnPostgres } from '../support/run-database.js';

const bench = useQueue();

async function start(
  webhooks: WebhookOptions = {},
  autoStart = true,
): Promise<QueueApp & { webhooks: QueueWebhooks; admin: QueueAdmin }> {
  const app = await bench.start({
    autoStart,
    retryIntervalMinutes: 60,
    webhooks: { allowedAddresses: ['127.0.0.1'], ...webhooks },
  });
  await bench.pool.query('truncate tasks_webhook');
  return { ...app, webhooks: app.app.get(QueueWebhooks), admin: app.app.get(QueueAdmin) };
}

async function ended(attempts: number): Promise<string[]> {
  const rows = await until(async () => {
    const { rows: found } = await bench.pool.query<{ id: string }>(
      `select id from tasks where subscriber_id = 'crm' and not dead and status in ('sucesso', 'falha') order by id`,
    );
    return found.length >= attempts && found;
  }, `${attempts} ended deliveries`);
  return rows.map(({ id }) => id);
}

testOnPostgres('a secret is shown once; a new one and the old one both sign', async () => {
  const receiver = await startReceiver();
  const { webhooks, queue } = await start();
  await subscribe(bench.database, [{ id: 'crm', url: receiver.url, http_method: 'POST' }]);
  const secrets = [await webhooks.createSecret('crm'), await webhooks.createSecret('crm')];
  await queue.insertTaskPubSub({ topic: 'order-placed', payload: { id: 1 } });
  await ended(1);
  const [request] = receiver.requests;
  const headers = request?.headers as Record<string, string>;
  expect(headers['webhook-signature']?.split(' ')).toHaveLength(2);
  for (const secret of secrets) new Webhook(secret).verify(request?.body.toString() ?? '', headers);
  // A day later only the new one does.
  const { rows } = await bench.pool.query<{ left: string }>(
    `select extract(epoch from (s ->> 'until')::timestamptz - now()) / 3600 as left
     from tasks_webhook, jsonb_array_elements(secrets) s where s ->> 'until' is not null`,
  );
  expect(rows.map(({ left }) => Math.round(Number(left)))).toEqual([24]);
  await bench.pool.query(
    `update tasks_webhook set secrets = jsonb_set(secrets, '{1,until}', to_jsonb(now() - interval '1 second'))`,
  );
  const other = await bench.start({ autoStart: false, webhooks: { allowedAddresses: ['127.0.0.1'] } });
  await other.app.get(QueueWebhooks).ping('crm');
  expect(receiver.requests.at(-1)?.headers['webhook-signature']?.toString().split(' ')).toHaveLength(1);
  await expect(webhooks.createSecret('nobody')).rejects.toMatchObject({ code: 'SUBSCRIPTION_NOT_FOUND' });
});

test('a key pair signs as v1a beside the secret, and its public half verifies', async () => {
  const receiver = await startReceiver();
  const { webhooks } = await start({}, false);
  await subscribe(bench.database, [{ id: 'crm', url: receiver.url, http_method: 'POST' }]);
  const secret = await webhooks.createSecret('crm');
  const publicKey = await webhooks.createKeyPair('crm');
  await webhooks.ping('crm');
  const [request] = receiver.requests;
  const headers = request?.headers as Record<string, string>;
  expect(headers['webhook-signature']?.split(' ').map((one) => one.split(',')[0])).toEqual(['v1a', 'v1']);
  for (const key of [secret, publicKey]) {
    expect(verifySignature([key], headers, request?.body ?? '')).toMatchObject({ id: headers['webhook-id'] });
  }
});

test('with a key secrets are stored encrypted, bound to their subscription; keys can change', async () => {
  const receiver = await startReceiver();
  const [oldKey, newKey] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
  const first = await start({ secretKeys: oldKey }, false);
  await subscribe(bench.database, [
    { id: 'crm', url: receiver.url, http_method: 'POST' },
    { id: 'erp', url: receiver.url, http_method: 'POST' },
  ]);
  const secret = await first.webhooks.createSecret('crm');
  const { rows } = await bench.pool.query<{ text: string }>(
    'select secrets::text as text from tasks_webhook',
  );
  expect(rows[0]?.text).toMatch(/"enc1:[0-9a-f]{8}:/);
  expect(rows[0]?.text).not.toContain(secret.slice(10, 20));
  const verified = async (webhooks: QueueWebhooks): Promise<void> => {
    expect(await webhooks.ping('crm')).toMatchObject({ ok: true, status: 200 });
    const { body, headers } = receiver.requests.at(-1)!;
    new Webhook(secret).verify(body.toString(), headers as Record<string, string>);
  };
  await verified(first.webhooks);
  const second = (
    await bench.start({
      autoStart: false,
      webhooks: { allowedAddresses: ['127.0.0.1'], secretKeys: [newKey, oldKey] },
    })
  ).app;
  await verified(second.get(QueueWebhooks));
  const third = (
    await bench.start({ autoStart: false, webhooks: { allowedAddresses: ['127.0.0.1'], secretKeys: newKey } })
  ).app;
  await expect(third.get(QueueWebhooks).ping('crm')).rejects.toMatchObject({
    code: 'WEBHOOK_SECRET_INVALID',
    message: expect.not.stringContaining(secret),
  });
  await bench.pool.query(
    `insert into tasks_webhook (subscriber_id, secrets) select 'erp', secrets from tasks_webhook`,
  );
  await expect(first.webhooks.ping('erp')).rejects.toMatchObject({ code: 'WEBHOOK_SECRET_INVALID' });
});

test('a ping is sent at once, under the rules of deliveries, and tells nothing of what was answered', async () => {
  const receiver = await startReceiver((_request, response) =>
    response.writeHead(503).end('internal secrets'),
  );
  const { webhooks } = await start({}, false);
  await subscribe(bench.database, [
    { id: 'crm', url: receiver.url, http_method: 'POST' },
    { id: 'inside', url: 'http://169.254.169.254/latest', http_method: 'POST' },
    { id: 'code' },
  ]);
  const answer = await webhooks.ping('crm');
  expect(answer).toEqual({ ok: false, status: 503, durationMs: expect.any(Number), failure: undefined });
  expect(JSON.parse(receiver.requests[0]?.body.toString() ?? '')).toMatchObject({
    type: 'webhook.ping',
    data: { subscriptionId: 'crm' },
  });
  expect(await webhooks.ping('inside')).toMatchObject({
    ok: false,
    status: undefined,
    failure: expect.stringContaining('refused-address'),
  });
  await expect(webhooks.ping('code')).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  expect(await webhooks.endpoint('crm')).toMatchObject({ failures: 0, signed: false });
});

test('what has failed is delivered once more under the same id: one, or all since a time', async () => {
  let status = 400;
  const receiver = await startReceiver((_request, response) => response.writeHead(status).end());
  const app = await bench.start({
    maxAttempts: 1,
    webhooks: { allowedAddresses: ['127.0.0.1'], circuit: false },
  });
  const webhooks = app.app.get(QueueWebhooks);
  await subscribe(bench.database, [{ id: 'crm', url: receiver.url, http_method: 'POST' }]);
  const since = new Date(Date.now() - 60_000);
  for (let n = 0; n < 3; n += 1) await app.queue.insertTaskPubSub({ topic: 'order-placed', payload: { n } });
  const [first = ''] = await ended(3);
  const idsOf = (): unknown[] => receiver.requests.map(({ headers }) => headers['webhook-id']);
  const before = idsOf();
  status = 200;
  await webhooks.replay(first);
  await ended(4);
  expect(before).toContain(idsOf().at(-1));
  expect(await webhooks.replayFailed('crm', { since: new Date(Date.now() + 60_000) })).toBe(0);
  expect(await webhooks.replayFailed('crm', { since })).toBe(2);
  await ended(6);
  expect(new Set(idsOf()).size).toBe(3);
  expect(await webhooks.replayFailed('crm', { since })).toBe(0);
  const log = await webhooks.deliveries('crm', { status: 'succeeded', since }, { limit: 2 });
  expect(log.tasks.map(({ message }) => message)).toEqual([
    expect.stringContaining('200'),
    expect.stringContaining('200'),
  ]);
  expect(log.next).toBeDefined();
  expect((await webhooks.deliveries('crm', { since: new Date(Date.now() + 60_000) })).tasks).toEqual([]);
});

test('a URL is checked when it is saved', async () => {
  const { admin } = await start({}, false);
  const add = (url: string): Promise<unknown> =>
    admin.subscriptions.add({ id: 'bad', topic: 'order-placed', url });
  for (const url of [
    'http://10.0.0.1/',
    'http://0xc0.0xa8.1.1/',
    'https://user:pass@example.com/',
    'http://[::1]/',
  ]) {
    await expect(add(url)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  }
  const url = 'https://hooks.example.com/orders';
  const headers = { Host: 'inside.example.com' };
  await expect(
    admin.subscriptions.add({ id: 'bad', topic: 'order-placed', url, headers }),
  ).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  await admin.subscriptions.add({
    id: 'good',
    topic: 'order-placed',
    url: 'https://hooks.example.com/orders',
    httpMethod: 'POST',
  });
});

test('a subscription that is removed takes its secrets along', async () => {
  const { admin, webhooks } = await start({}, false);
  const crm = {
    id: 'crm',
    topic: 'order-placed',
    url: 'https://hooks.example.com/orders',
    httpMethod: 'POST',
  };
  await admin.subscriptions.add(crm);
  await webhooks.createSecret('crm');
  await admin.subscriptions.remove('crm');
  await admin.subscriptions.add(crm);
  expect(await webhooks.endpoint('crm')).toMatchObject({ signed: false });
});

test('where webhooks are off, asking for them says how to turn them on', async () => {
  const { app } = await bench.start({ autoStart: false });
  expect(() => app.get(QueueWebhooks).ping('crm')).toThrow(/QueueWebhooks.ping requires webhooks: true/);
});

test.each([
  [{ concurrency: 0 }, 'webhooks.concurrency must be a whole number'],
  [{ circuit: { failures: 0 } }, 'webhooks.circuit.failures must be'],
  [{ schedule: 'daily' }, "webhooks.schedule must be 'queue' or 'standard'"],
  [{ secretKeys: 'short' }, 'webhooks.secretKeys: a key must be 32 bytes in base64'],
  [{ allowedAddresses: 'localhost' }, 'webhooks.allowedAddresses must be a list of strings'],
  [{ timeout: 3 }, "unknown option 'webhooks.timeout'"],
] as const)('mistakes in %j are named', async (webhooks, message) => {
  await expect(bench.start({ webhooks: webhooks as unknown as WebhookOptions })).rejects.toThrow(message);
});
