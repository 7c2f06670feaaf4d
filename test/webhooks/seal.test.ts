import { createHmac, randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { Client } from 'pg';
import { beforeEach, expect, test, vi } from 'vitest';
import { QueueAdmin, QueueWebhooks, Subscriber } from '../../lib/index.js';
import { coreOf, type QueueApp, type QueueAppOptions } from '../support/queue-app.js';
import { subscribe } from '../support/subscriptions.js';
import { until } from '../support/waiting.js';
import { useQueue } from '../worker/queue-bench.js';
import { startReceiver, type Receiver } from './kit/receivers.js';

const bench = useQueue();

interface WebhookApp extends QueueApp {
  readonly admin: QueueAdmin;
  readonly webhooks: QueueWebhooks;
}

async function start(options: QueueAppOptions = {}): Promise<WebhookApp> {
  const webhooks = { allowedAddresses: ['127.0.0.1'] };
  const app = await bench.start({ retryIntervalMinutes: 0, maxAttempts: 2, webhooks, ...options });
  return { ...app, admin: app.app.get(QueueAdmin), webhooks: app.app.get(QueueWebhooks) };
}

beforeEach(async () => {
  await bench.pool.query(`do $$ begin
    if to_regclass('tasks_webhook') is not null then truncate tasks_webhook; end if;
    if to_regclass('tasks_paused') is not null then truncate tasks_paused; end if;
  end $$`);
});

/** A delivery for `crm`, which leads to that URL, and waits until `resume` is called. */
async function heldDelivery({ app, queue, admin }: WebhookApp, url: string): Promise<() => Promise<void>> {
  await subscribe(bench.database, [
    { id: 'crm', url, http_method: 'POST', headers: { 'x-as': 'published' } },
  ]);
  // A worker that has not heard of the pause yet would make the first attempt.
  const reads = vi.spyOn(coreOf(app).database.endpoints, 'pausedRoutes');
  await admin.pause({ subscriptionId: 'crm' });
  await until(async () => {
    const read = await Promise.all(reads.mock.results.map(({ value }) => value));
    return read.flat().some(({ route }) => route === 's:crm');
  }, 'the worker to hear of the pause');
  reads.mockRestore();
  await queue.insertTaskPubSub({ topic: 'order-placed', payload: 'Zoë 🐢' });
  await until(async () => (await deliveries()).length === 1, 'the delivery');
  return () => admin.resume({ subscriptionId: 'crm' });
}

async function deliveries(where = 'true'): Promise<Record<string, unknown>[]> {
  const { rows } = await bench.pool.query<Record<string, unknown>>(
    `select * from tasks where subscriber_id is not null and not dead and ${where} order by id`,
  );
  return rows;
}

const ended = (count: number): Promise<Record<string, unknown>[]> =>
  until(async () => {
    const rows = await deliveries(`status in ('sucesso', 'falha')`);
    return rows.length >= count && rows;
  }, `${count} ended deliveries`);

const moveTo = (url: string | null, headers = { 'x-as': 'present' }): Promise<unknown> =>
  bench.pool.query(`update tasks_subscriber set url = $1, headers = $2 where id = 'crm'`, [url, headers]);

const seen = ({ requests }: Receiver): unknown[] =>
  requests.map(({ headers, body }) => [headers['x-as'], body.toString()]);

test('fan-out seals what goes to a URL by HMAC-SHA256 with the key in its table, and nothing else', async () => {
  class Handlers {
    @Subscriber('code')
    take(): void {}
  }
  const { queue, admin } = await start({ handlers: [Handlers] });
  const id = 'żółw 1';
  await admin.pause({ subscriptionId: id });
  await subscribe(bench.database, [{ id, url: 'https://example.com', http_method: 'POST' }, { id: 'code' }]);
  const publication = await queue.insertTaskPubSub({ topic: 'order-placed', payload: '"quoted" 🐢' });
  const rows = await until(async () => {
    const found = await deliveries();
    return found.length === 2 && found;
  }, 'both deliveries');
  const payloadOf = (subscription: string): string =>
    String(rows.find((row) => row['subscriber_id'] === subscription)?.['payload']);
  expect(payloadOf('code')).toMatch(/^\{"publication" : .*, "subscription" : \{"id":"code".*\}\}$/);
  const [, front = '', seal] = /^(.*), "seal" : "([0-9a-f]{64})"\}$/s.exec(payloadOf(id)) ?? [];
  expect(JSON.parse(`${front}}`)).toMatchObject({ publication: '"quoted" 🐢', subscription: { id } });
  const keys = await bench.pool.query<Record<string, Buffer>>('select * from tasks_seal');
  const [row] = keys.rows;
  const key = row?.['inner_key']?.map((byte) => byte ^ 0x36) ?? Buffer.alloc(0);
  expect(row?.['outer_key']?.map((byte) => byte ^ 0x5c)).toEqual(key);
  expect([keys.rows.length, key.length, new Set(key).size > 20]).toEqual([1, 64, true]);
  const covered = `${publication} ${Buffer.byteLength(id)} ${id} ${front}}`;
  expect(seal).toBe(createHmac('sha256', key).update(covered).digest('hex'));
});

test('a sealed delivery goes where its subscription led when it was published, by every attempt and replay', async () => {
  let status = 500;
  const published = await startReceiver((_, response) => response.writeHead(status).end());
  const present = await startReceiver();
  const app = await start();
  const resume = await heldDelivery(app, published.url);
  await moveTo(present.url);
  await resume();
  const [, last] = await ended(2);
  const id = await app.webhooks.replay(String(last?.['id']));
  await ended(4);
  await bench.pool.query(`delete from tasks_subscriber`);
  status = 200;
  expect(await app.webhooks.replayFailed('crm', { since: new Date(0) })).toBe(1);
  const rows = await until(async () => {
    const found = await deliveries();
    return found.at(-1)?.['status'] === 'sucesso' && found;
  }, 'the last replay');
  expect(rows.length).toBeGreaterThan(4);
  expect(Number(id)).toBeGreaterThan(Number(last?.['id']));
  expect(new Set(seen(published).map((one) => JSON.stringify(one)))).toEqual(
    new Set([JSON.stringify(['published', 'Zoë 🐢'])]),
  );
  expect(published.requests).toHaveLength(rows.length);
  expect(present.requests).toEqual([]);
});

/** What somebody makes of a delivery that a worker has sealed. */
const forgeries: readonly (readonly [what: string, payload: string, columns?: string])[] = [
  ['another URL', `replace(payload, 'hook', 'other')`],
  ['another text', `replace(payload, 'Zoë', 'Eve')`],
  ['no seal', `regexp_replace(payload, ', "seal" : "[0-9a-f]+"', '')`],
  ['a seal of nothing', `regexp_replace(payload, '"seal" : "[0-9a-f]+"', '"seal" : "${'0'.repeat(64)}"')`],
  ['another publication', 'payload', 'publication_id + 1'],
  ['no publication', 'payload', 'null'],
];

test.each(forgeries)(
  'a delivery that a program forged with %s goes where its subscription leads now',
  async (_, payload, publication = 'publication_id') => {
    const published = await startReceiver((_request, response) => response.writeHead(410).end());
    const present = await startReceiver();
    const app = await start();
    await heldDelivery(app, published.url);
    await moveTo(present.url);
    const { rows } = await bench.pool.query<{ id: string }>(
      `with taken as (delete from tasks where subscriber_id = 'crm' returning *)
       insert into tasks (processo, subscriber_id, publication_id, payload)
       select processo, subscriber_id, ${publication}, ${payload} from taken returning id`,
    );
    const secret = await app.webhooks.createSecret('crm');
    await app.admin.resume({ subscriptionId: 'crm' });
    expect(await ended(1)).toMatchObject([{ id: rows[0]?.id, status: 'sucesso' }]);
    expect(published.requests).toEqual([]);
    expect(present.requests).toHaveLength(1);
    const [request] = present.requests;
    expect(request?.headers['x-as']).toBe('present');
    new Webhook(secret).verify(String(request?.body), request?.headers as Record<string, string>, {
      jsonParse: false,
    });
  },
);

test('whoever may insert and read every column chooses no URL, no secret but that of the row, and deactivates nobody', async () => {
  const inside = await startReceiver((_, response) => response.writeHead(410).end('what only insiders know'));
  const [crm, erp] = [await startReceiver(), await startReceiver()];
  const app = await start({ maxAttempts: 1 });
  await subscribe(bench.database, [
    { id: 'crm', url: crm.url, http_method: 'POST' },
    { id: 'erp', url: erp.url, http_method: 'POST' },
  ]);
  const secrets = {
    crm: await app.webhooks.createSecret('crm'),
    erp: await app.webhooks.createSecret('erp'),
  };
  const role = `producer_${randomBytes(4).toString('hex')}`;
  await bench.pool.query(`create role ${role} login password 'p';
    grant insert, select on tasks to ${role}; grant usage on sequence tasks_id_seq to ${role}`);
  const url = new URL(bench.database.url);
  [url.username, url.password] = [role, 'p'];
  const producer = new Client({ connectionString: url.href });
  await producer.connect();
  await expect(producer.query('select * from tasks_seal')).rejects.toThrow('permission denied');
  for (const subscription of ['crm', 'nobody']) {
    const envelope = {
      publication: 'evil',
      subscription: { id: 'erp', url: inside.url, http_method: 'POST', headers: { 'x-evil': '1' } },
    };
    await producer.query(
      `insert into tasks (processo, subscriber_id, publication_id, payload) values ('order-placed', $1, 1, $2)`,
      [subscription, JSON.stringify(envelope)],
    );
  }
  await producer.end();
  const rows = await ended(2);
  expect(rows.map(({ subscriber_id: id, status }) => [id, status])).toEqual([
    ['crm', 'sucesso'],
    ['nobody', 'falha'],
  ]);
  expect(rows[1]?.['mensagem']).toMatch(
    /^not registered: no method of this process handles subscription 'nobody', which does not exist, and delivery \d+ has no valid seal of a worker that says where it goes/,
  );
  expect([inside.requests, erp.requests]).toEqual([[], []]);
  const [request] = crm.requests;
  const headers = request?.headers as Record<string, string>;
  expect(headers).not.toHaveProperty('x-evil');
  new Webhook(secrets.crm).verify('evil', headers, { jsonParse: false });
  expect(() => new Webhook(secrets.erp).verify('evil', headers, { jsonParse: false })).toThrow(
    'No matching signature',
  );
  expect(JSON.stringify(rows)).not.toContain('insiders');
  expect((await app.webhooks.endpoint('erp')).active).toBe(true);
  await bench.pool.query(`drop owned by ${role}; drop role ${role}`);
});

test('410 deactivates a subscription only where that leads now', async () => {
  const gone = await startReceiver((_, response) => response.writeHead(410).end());
  const present = await startReceiver((_, response) => response.writeHead(410).end());
  const app = await start({ maxAttempts: 1 });
  const resume = await heldDelivery(app, gone.url);
  await moveTo(present.url);
  await resume();
  expect(await ended(1)).toMatchObject([{ status: 'falha' }]);
  expect([gone.requests.length, present.requests.length]).toEqual([1, 0]);
  expect(await app.webhooks.endpoint('crm')).toMatchObject({ active: true, deactivatedFor: null });
  await app.queue.insertTaskPubSub({ topic: 'order-placed', payload: 'next' });
  await ended(2);
  expect(await app.webhooks.endpoint('crm')).toMatchObject({
    active: false,
    deactivatedFor: 'its endpoint answered 410 (gone)',
  });
});

test('when the key is replaced, what waits goes where its subscription leads now, and what follows is sealed again', async () => {
  const [published, present] = [await startReceiver(), await startReceiver()];
  const app = await start();
  const resume = await heldDelivery(app, published.url);
  await moveTo(present.url);
  await bench.pool.query('delete from tasks_seal');
  // A start makes what is missing, here the key.
  await (await bench.start({ worker: false })).close();
  await resume();
  await ended(1);
  expect([seen(published), seen(present)]).toEqual([[], [['present', 'Zoë 🐢']]]);
  const { rows } = await bench.pool.query('select from tasks_seal');
  expect(rows).toHaveLength(1);
});
