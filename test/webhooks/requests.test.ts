import { expect, test } from 'vitest';
import type { WebhookOptions } from '../../lib/index.js';
import { subscribe, type SubscriptionRow } from '../support/subscriptions.js';
import { LogLines } from '../support/log-lines.js';
import { useQueue, type AttemptRow } from '../worker/queue-bench.js';
import { until } from '../support/waiting.js';
import { startRawReceiver, startReceiver } from './kit/receivers.js';

const bench = useQueue();
const payload = '{ "id": 1, "to": "Zoë 🦄" }';
let subscriptions = 0;

/** Publishes to one subscription and answers its delivery's first attempt, once that has ended. */
async function deliver(
  row: Omit<SubscriptionRow, 'id'>,
  options: WebhookOptions = {},
  logger?: LogLines,
): Promise<AttemptRow> {
  const id = `endpoint-${(subscriptions += 1)}`;
  const { queue } = await bench.start({
    webhooks: { allowedAddresses: ['127.0.0.1'], ...options },
    shutdownTimeoutMs: 100,
    ...(logger && { logger }),
  });
  await subscribe(bench.database, [{ id, processo: id, ...row }]);
  await queue.insertTaskWebhook({ topic: id, payload });
  return until(async () => {
    const { rows } = await bench.pool.query<AttemptRow>(
      `select * from tasks where subscriber_id = $1 and status in ('sucesso', 'falha')`,
      [id],
    );
    return rows[0];
  }, 'the delivery has ended');
}

test.each(['POST', 'put'])('%s sends the exact text and the headers', async (method) => {
  const receiver = await startReceiver();
  const row = await deliver({ url: receiver.url, http_method: method, headers: { 'x-shop': 'lisbon' } });
  expect(row).toMatchObject({
    status: 'sucesso',
    mensagem: expect.stringContaining(`${method.toUpperCase()} http://`),
  });
  expect(row.mensagem).toContain(': 200 in ');
  expect(receiver.requests).toMatchObject([
    { method: method.toUpperCase(), headers: { 'x-shop': 'lisbon' } },
  ]);
  expect(receiver.requests[0]?.body.toString()).toBe(payload);
});

test.each(['GET', 'delete'])('%s has no body', async (method) => {
  const receiver = await startReceiver();
  expect((await deliver({ url: receiver.url, http_method: method })).status).toBe('sucesso');
  expect(receiver.requests[0]?.body).toHaveLength(0);
});

test.each(['PATCH', null])('%s is a failure that says what there is', async (method) => {
  const receiver = await startReceiver();
  const row = await deliver({ url: receiver.url, http_method: method });
  expect(row).toMatchObject({ status: 'falha', reenfileirado: true });
  expect(row.mensagem).toContain('the method of a webhook must be GET, POST, PUT or DELETE');
  expect(receiver.requests).toEqual([]);
});

test.each([404, 500])('%i is a failure like any other, of one request', async (status) => {
  const receiver = await startReceiver((_request, response) => response.writeHead(status).end('no'));
  const row = await deliver({ url: receiver.url, http_method: 'POST' });
  expect(row).toMatchObject({ status: 'falha', reenfileirado: true });
  expect(row.mensagem).toContain(`: ${status} in `);
  expect(receiver.requests).toHaveLength(1);
});

test('a connection that is refused says so', async () => {
  const row = await deliver({ url: 'http://127.0.0.1:1/hook', http_method: 'POST' });
  expect(row).toMatchObject({ status: 'falha', mensagem: expect.stringContaining('connect') });
});

test.each(['nothing', 'a body in drips'])('%s until the deadline is a failure then', async (answer) => {
  const receiver = await startRawReceiver((socket) => {
    socket.resume();
    if (answer === 'nothing') return;
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n');
    const drip = setInterval(() => socket.write('x'), 50);
    socket.on('close', () => clearInterval(drip));
  });
  const row = await deliver({ url: receiver.url, http_method: 'POST' }, { timeoutMs: 300 });
  expect(row).toMatchObject({ status: 'falha', mensagem: expect.stringContaining('timeout') });
  await until(async () => receiver.sockets.every(({ destroyed }) => destroyed), 'the socket is closed');
});

test('secrets in headers are in no message and in no log, also when they come back', async () => {
  const receiver = await startReceiver(({ headers }, response) =>
    response.writeHead(400).end(`you sent ${headers.authorization ?? ''}`),
  );
  const log = new LogLines();
  const headers = { authorization: 'Bearer s3cr3t-t0k3n' };
  const row = await deliver({ url: receiver.url, http_method: 'POST', headers }, {}, log);
  expect(row.mensagem).toContain('you sent [removed]');
  expect(JSON.stringify([row.mensagem, row['erro'], log.of()])).not.toContain('s3cr3t');
  expect(log.of().length).toBeGreaterThan(0);
});
