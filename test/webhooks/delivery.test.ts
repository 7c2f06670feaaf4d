import { Injectable } from '@nestjs/common';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import {
  DeadSubscriber,
  QueueAdmin,
  QueueWebhooks,
  Subscriber,
  SubscriberWebhook,
  TaskHandler,
  type WebhookOptions,
} from '../../lib/index.js';
import type { QueueApp, QueueAppOptions } from '../support/queue-app.js';
import { subscribe } from '../support/subscriptions.js';
import { nextEvent, until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';
import { startReceiver, type Received } from './kit/receivers.js';

const bench = useQueue();

interface WebhookApp extends QueueApp {
  readonly admin: QueueAdmin;
  readonly webhooks: QueueWebhooks;
  readonly publish: (payload?: unknown) => Promise<string>;
}

async function start(webhooks: WebhookOptions = {}, options: QueueAppOptions = {}): Promise<WebhookApp> {
  const app = await bench.start({
    retryIntervalMinutes: 0,
    webhooks: { allowedAddresses: ['127.0.0.1'], ...webhooks },
    ...options,
  });
  await bench.pool.query('truncate tasks_webhook');
  return {
    ...app,
    admin: app.app.get(QueueAdmin),
    webhooks: app.app.get(QueueWebhooks),
    publish: (payload = { id: 1 }) => app.queue.insertTaskWebhook({ topic: 'order-placed', payload }),
  };
}

/** The deliveries of a subscription, all their attempts, once so many have ended. */
async function ended(id: string, attempts = 1): Promise<Record<string, unknown>[]> {
  return until(async () => {
    const { rows } = await bench.pool.query<Record<string, unknown>>(
      `select * from tasks where subscriber_id = $1 and not dead and status in ('sucesso', 'falha') order by id`,
      [id],
    );
    return rows.length >= attempts && rows;
  }, `${attempts} ended deliveries for ${id}`);
}

/** Ms from the end of an attempt to the next one. */
function waitOf(row: Record<string, unknown> | undefined): number {
  const [next, end] = [row?.['proxima_tentativa'], row?.['finalizada_em']] as [Date, Date];
  return next.getTime() - end.getTime();
}

const headersOf = ({ headers }: Received): Record<string, string> => headers as Record<string, string>;

test('a subscription with a URL and no code gets the exact text, signed, in a process without code', async () => {
  const receiver = await startReceiver();
  const { webhooks, publish } = await start();
  await subscribe(bench.database, [
    {
      id: 'crm',
      url: `${receiver.url}?key=s3cret`,
      http_method: 'post',
      headers: { 'x-tenant': 'z' },
    },
  ]);
  const secret = await webhooks.createSecret('crm');
  const payload = '{ "żółw": "🐢", "big": 12345678901234567890 }';
  await publish(payload);
  const [row] = await ended('crm');
  expect(row).toMatchObject({
    status: 'sucesso',
    mensagem: expect.stringMatching(/^POST http:\/\/127.*\/hook: 200 in \d+ ms: ok$/),
  });
  expect(JSON.stringify(row?.['mensagem'])).not.toContain('s3cret');
  const [received] = receiver.requests;
  expect(received?.body.toString()).toBe(payload);
  expect(received?.headers).toMatchObject({ 'content-type': 'application/json', 'x-tenant': 'z' });
  new Webhook(secret).verify(received?.body.toString() ?? '', headersOf(received!), { jsonParse: false });
});

test.each(['seal', 'present'])(
  'a header that SQL wrote as a number is sent with all its digits: %s',
  async (way) => {
    const receiver = await startReceiver();
    const { publish, worker } = await start({}, { autoStart: false });
    await subscribe(bench.database, [{ id: 'crm', url: receiver.url, http_method: 'POST' }]);
    await bench.pool.query(
      `update tasks_subscriber set headers = '{"x-account":1970670598291982290,"x-rate":1.5}' where id = 'crm'`,
    );
    await publish();
    if (way === 'present') {
      // Whoever inserts a delivery by SQL has no seal: it goes where the subscription leads now.
      await bench.pool.query(
        `insert into tasks (processo, publication_id, subscriber_id, payload)
       values ('order-placed', 1, 'crm', '{"publication":"x","subscription":{}}')`,
      );
    }
    await worker.start();
    const rows = await ended('crm', way === 'present' ? 2 : 1);
    expect(rows.map(({ status }) => status)).toEqual(rows.map(() => 'sucesso'));
    const headers = { 'x-account': '1970670598291982290', 'x-rate': '1.5' };
    expect(receiver.requests.map((one) => one.headers)).toMatchObject(rows.map(() => headers));
  },
);

test('an attempt that fails is tried again under the same webhook-id, with a timestamp of its own', async () => {
  let answers = 0;
  const receiver = await startReceiver((_request, response) => {
    answers += 1;
    response.writeHead(answers < 3 ? 503 : 200).end('{"error":"try later"}');
  });
  const { webhooks, publish } = await start();
  await subscribe(bench.database, [{ id: 'crm', url: receiver.url, http_method: 'PUT' }]);
  await webhooks.createSecret('crm');
  await publish();
  const rows = await ended('crm', 3);
  expect(rows.map(({ status }) => status)).toEqual(['falha', 'falha', 'sucesso']);
  expect(rows[0]?.['mensagem']).toMatch(/: 503 in \d+ ms: {"error":"try later"} \(will be tried again\)$/);
  const ids = new Set(receiver.requests.map(({ headers }) => headers['webhook-id']));
  expect(ids.size).toBe(1);
  expect([...ids][0]).toMatch(/^msg_[0-9a-f]{32}$/);
  expect(await webhooks.endpoint('crm')).toMatchObject({
    failures: 0,
    active: true,
    signed: true,
    lastSuccessAt: expect.any(Date),
  });
});

test('code wins over a URL, a dead handler in code serves webhooks as well, and what is neither is not registered', async () => {
  const receiver = await startReceiver((_request, response) => response.writeHead(500).end());
  const seen: string[] = [];
  class Handlers {
    @Subscriber('code')
    code(): void {
      seen.push('code');
    }
    @DeadSubscriber('dead')
    dead(): void {
      seen.push('dead');
    }
    @TaskHandler('other')
    other(): void {}
  }
  const { publish } = await start({}, { handlers: [Handlers], unknownTasks: 'fail', maxAttempts: 2 });
  await subscribe(bench.database, [
    { id: 'code', url: receiver.url, http_method: 'POST' },
    { id: 'dead', url: receiver.url, http_method: 'POST' },
    { id: 'neither' },
  ]);
  await publish();
  expect((await ended('code'))[0]).toMatchObject({ status: 'sucesso', mensagem: 'completed' });
  await ended('dead', 2);
  expect((await ended('neither', 2))[0]?.['mensagem']).toMatch(/^not registered/);
  await until(async () => seen.length === 2, 'the dead handler');
  expect(seen.sort()).toEqual(['code', 'dead']);
  expect(receiver.requests).toHaveLength(2);
});

test('a worker without code leaves what is no webhook', async () => {
  const receiver = await startReceiver();
  const { publish, queue } = await start();
  await subscribe(bench.database, [{ id: 'hook', url: receiver.url, http_method: 'POST' }, { id: 'code' }]);
  await queue.insertTask({ topic: 'task' });
  await publish();
  await ended('hook');
  const { rows } = await bench.pool.query(
    `select status from tasks where processo = 'task' or subscriber_id = 'code'`,
  );
  expect(rows).toEqual([{ status: 'pendente' }, { status: 'pendente' }]);
});

test('what is declared a webhook needs no row with a URL; without a URL its deliveries fail and say so', async () => {
  @SubscriberWebhook('declared')
  @Injectable()
  class Marker {
    @TaskHandler('other')
    other(): void {}
  }
  const { publish } = await start({}, { handlers: [Marker] });
  await subscribe(bench.database, [{ id: 'declared' }]);
  await publish();
  expect((await ended('declared'))[0]?.['mensagem']).toMatch(/has no URL/);
  await expect(bench.start({ handlers: [Marker], webhooks: false })).rejects.toMatchObject({
    code: 'HANDLER_INVALID',
    message: expect.stringContaining("@SubscriberWebhook('declared') on Marker needs webhooks: true"),
  });
});

test('Retry-After is obeyed, not sooner than the queue would try', async () => {
  const receiver = await startReceiver((_request, response) =>
    response.writeHead(429, { 'retry-after': '7200' }).end(),
  );
  const { publish } = await start({}, { retryIntervalMinutes: 60 });
  await subscribe(bench.database, [{ id: 'crm', url: receiver.url, http_method: 'POST' }]);
  await publish();
  const [row] = await ended('crm');
  const waitMs = waitOf(row);
  expect(Math.round(waitMs / 60_000)).toBe(120);
});

test('the standard schedule has ten attempts, the first retry after about five seconds', async () => {
  const receiver = await startReceiver((_request, response) => response.writeHead(500).end());
  const { publish } = await start({ schedule: 'standard' });
  await subscribe(bench.database, [{ id: 'crm', url: receiver.url, http_method: 'POST' }]);
  await publish();
  const [row] = await ended('crm');
  const waitMs = waitOf(row);
  expect(waitMs).toBeGreaterThan(3_900);
  expect(waitMs).toBeLessThan(6_100);
  await bench.pool.query(
    `update tasks set tentativa = 10, data_hora = now() where subscriber_id = 'crm' and status = 'agendada'`,
  );
  expect((await ended('crm', 2))[1]).toMatchObject({ estouro_tentativas: true, tentativa: 10 });
});

test('410 deactivates: no further attempt, what waits goes on waiting until somebody reactivates it', async () => {
  let status = 410;
  const receiver = await startReceiver((_request, response) => response.writeHead(status).end());
  const { publish, webhooks, events } = await start();
  await subscribe(bench.database, [{ id: 'crm', url: receiver.url, http_method: 'POST' }]);
  const deactivated = nextEvent(events, 'webhook.deactivated');
  await publish();
  expect(await deactivated).toEqual({ subscriptionId: 'crm', reason: 'its endpoint answered 410 (gone)' });
  expect((await ended('crm'))[0]).toMatchObject({ estouro_tentativas: true });
  expect(await webhooks.endpoint('crm')).toMatchObject({
    active: false,
    deactivatedFor: expect.stringContaining('410'),
  });
  // Made before the subscription was inactive, as far as the table knows.
  await bench.pool.query(
    `insert into tasks (processo, subscriber_id, payload)
     select processo, subscriber_id, payload from tasks where subscriber_id = 'crm' and not dead limit 1`,
  );
  const other = await startReceiver();
  await subscribe(bench.database, [{ id: 'other', url: other.url, http_method: 'POST' }]);
  await publish();
  await ended('other');
  expect(receiver.requests).toHaveLength(1);
  status = 200;
  await webhooks.reactivate('crm');
  await ended('crm', 2);
  expect(receiver.requests).toHaveLength(2);
  await expect(webhooks.reactivate('nobody')).rejects.toMatchObject({ code: 'SUBSCRIPTION_NOT_FOUND' });
});

test('an endpoint without a success for so many days is deactivated', async () => {
  const receiver = await startReceiver((_request, response) => response.writeHead(500).end());
  const { publish, events } = await start({ deactivateAfterDays: 5 }, { retryIntervalMinutes: 60 });
  await subscribe(bench.database, [{ id: 'crm', url: receiver.url, http_method: 'POST' }]);
  await bench.pool.query(
    `insert into tasks_webhook (subscriber_id, secrets, failures, failing_since) values ('crm', '[]', 1, now() - interval '6 days')`,
  );
  const deactivated = nextEvent(events, 'webhook.deactivated');
  await publish();
  expect((await deactivated).reason).toBe('no success for 5 days');
});

test('a receiver may abort one delivery', async () => {
  const receiver = await startReceiver((_request, response) =>
    response.writeHead(422, { 'webhook-delivery': 'abort-message' }).end(),
  );
  const { publish } = await start();
  await subscribe(bench.database, [{ id: 'crm', url: receiver.url, http_method: 'POST' }]);
  await publish();
  expect((await ended('crm'))[0]).toMatchObject({ estouro_tentativas: true });
});
