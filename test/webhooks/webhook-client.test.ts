import { createHash } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { deliveryMessage } from '../../lib/webhooks/delivery-message.js';
import { WebhookClient } from '../../lib/webhooks/webhook-client.js';
import { generateSecret } from '../../lib/webhooks/signing-secret.js';
import { version } from '../../lib/version.js';
import { until } from '../support/waiting.js';
import { createClient, failing, failureOf, startReceiver, toSend } from './kit/receivers.js';

test.each([
  ...[200, 201, 202, 204, 206, 299].map((status) => [status, true] as const),
  ...[300, 301, 302, 304, 307, 308, 399].map((status) => [status, false] as const),
  ...[400, 401, 404, 410, 422, 429, 500, 502, 503, 504, 599].map((status) => [status, false] as const),
])('an answer of %i: success is %s', async (status, ok) => {
  const receiver = await startReceiver((_request, response) => {
    response.writeHead(status, {
      'retry-after': '120',
      'webhook-delivery': 'abort-message',
      'x-other': 'no',
    });
    response.end(status === 204 || status === 304 ? undefined : 'żółw');
  });
  const answer = await createClient().send(toSend(receiver.url));
  expect(answer).toMatchObject({ status, ok, snippet: status === 204 || status === 304 ? '' : 'żółw' });
  expect(answer.headers).toEqual({ 'retry-after': '120', 'webhook-delivery': 'abort-message' });
  expect(answer.durationMs).toBeGreaterThanOrEqual(0);
  expect(receiver.requests).toHaveLength(1);
});

test('the receiver gets the exact bytes, and can verify them', async () => {
  const receiver = await startReceiver();
  const client = createClient();
  const secrets = [generateSecret(), generateSecret()];
  const bodies = [
    '{"b":1,"a":2,"10":3,"9":4}',
    '{"big":12345678901234567890,"exact":0.1000}',
    '{ "żółw" : "🐢 👩‍👩‍👧 é é" }\n\t ',
    '"\\u017c\\ud83d\\udc22"',
    'plain \u0001 text',
    '\ufeff{}',
    'x'.repeat(300_000),
    '',
  ];
  for (const body of bodies) {
    for (const method of ['POST', 'put']) await client.send(toSend(receiver.url, { body, method, secrets }));
    const expected = createHash('sha256').update(body, 'utf8').digest('hex');
    for (const { body: bytes, headers } of receiver.requests.splice(0)) {
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(expected);
      expect(headers['content-length']).toBe(String(Buffer.byteLength(body)));
      for (const secret of secrets) {
        new Webhook(secret).verify(bytes.toString(), headers as Record<string, string>, { jsonParse: false });
      }
    }
  }
});

test('GET and DELETE carry no body, and are signed over none', async () => {
  const receiver = await startReceiver();
  const client = createClient();
  const secret = generateSecret();
  for (const method of ['GET', 'delete']) {
    await client.send(toSend(`${receiver.url}?a=b%20c`, { method, body: '{"a":1}', secrets: [secret] }));
  }
  expect(receiver.requests.map(({ method }) => method)).toEqual(['GET', 'DELETE']);
  for (const { body, headers, path } of receiver.requests) {
    expect(body).toHaveLength(0);
    expect(path).toBe('/hook?a=b%20c');
    expect(headers['content-type']).toBeUndefined();
    expect(headers['transfer-encoding']).toBeUndefined();
    new Webhook(secret).verify('', headers as Record<string, string>);
  }
});

test('what is sent besides the body', async () => {
  const receiver = await startReceiver();
  const client = createClient();
  await client.send(
    toSend(receiver.url, { id: 'msg_7', timestamp: 1_700_000_000, headers: { 'X-Key': 'ü' } }),
  );
  expect(receiver.requests[0]?.headers).toEqual({
    host: `127.0.0.1:${receiver.port}`,
    connection: 'keep-alive',
    'content-length': '2',
    'content-type': 'application/json',
    'user-agent': `tarefa/${version}`,
    'accept-encoding': 'identity',
    'webhook-id': 'msg_7',
    'webhook-timestamp': '1700000000',
    'x-key': 'ü',
  });
});

test('the content type is told for JSON, and never against the subscription', async () => {
  const receiver = await startReceiver();
  const client = createClient();
  const typeFor = async (body: string, headers?: Record<string, string>): Promise<string | undefined> => {
    await client.send(toSend(receiver.url, { body, headers }));
    return receiver.requests.pop()?.headers['content-type'];
  };
  expect(await typeFor('{"a":1}')).toBe('application/json');
  expect(await typeFor('[1]')).toBe('application/json');
  expect(await typeFor('<a/>')).toBeUndefined();
  expect(await typeFor('')).toBeUndefined();
  expect(await typeFor('{"a":1}', { 'CONTENT-type': 'application/cloudevents+json' })).toBe(
    'application/cloudevents+json',
  );
});

test('a subscription’s headers that are not its to set, or would break out, are refused unsent', async () => {
  const receiver = await startReceiver();
  const client = createClient();
  const refused: readonly Readonly<Record<string, unknown>>[] = [
    ...[
      'Connection',
      'Keep-Alive',
      'Proxy-Authorization',
      'proxy-connection',
      'TE',
      'Trailer',
      'Upgrade',
    ].map((name) => ({ [name]: 'x' })),
    ...['Transfer-Encoding', 'HOST', 'Content-Length', 'Expect', 'webhook-id', 'Webhook-Signature'].map(
      (name) => ({
        [name]: 'secret-value',
      }),
    ),
    ...['', ' ', 'a b', 'a:b', 'a\r\nb', 'ż', 'a\0', '(a)'].map((name) => ({ [name]: 'secret-value' })),
    ...['secret-value\r\nx: y', 'a\nb', 'a\rb', 'a\0b', '🐢', 'a\u0001', '\u007f'].map((value) => ({
      'x-a': value,
    })),
    ...[null, {}, ['a']].map((value) => ({ 'x-a': value })),
    { 'x-a': '1', 'X-A': '2' },
  ];
  for (const headers of refused) {
    const failure = await failing(client, receiver.url, { headers: headers as Record<string, string> });
    expect({ headers, kind: failure.kind }).toEqual({ headers, kind: 'refused-request' });
    expect(failure.message).not.toContain('secret-value');
  }
  expect(receiver.sockets).toHaveLength(0);
  // Numbers and booleans, which JSON may hold, are text enough.
  const headers = { 'x-number': 5, 'x-boolean': true } as unknown as Record<string, string>;
  await client.send(toSend(receiver.url, { headers }));
  expect(receiver.requests[0]?.headers).toMatchObject({ 'x-number': '5', 'x-boolean': 'true' });
});

test('other methods are refused', async () => {
  const client = createClient();
  for (const method of [null, '', 'PATCH', 'HEAD', 'CONNECT', 'TRACE', 'POST\r\nX: y', 'GET /']) {
    expect(await failing(client, 'http://127.0.0.1:1/', { method })).toMatchObject({
      kind: 'refused-request',
      message: expect.stringMatching(/^the method of a webhook must be GET, POST, PUT or DELETE/),
    });
  }
});

test('a connection is used again, and closed when too many are idle', async () => {
  const receivers = await Promise.all([startReceiver(), startReceiver(), startReceiver()]);
  const client = createClient({ maxIdleConnections: 2 });
  const [first, second, third] = receivers;
  await client.send(toSend(first.url));
  await client.send(toSend(first.url));
  expect(first.sockets).toHaveLength(1);
  await Promise.all([client.send(toSend(first.url)), client.send(toSend(first.url))]);
  expect(first.sockets).toHaveLength(2);
  await client.send(toSend(second.url));
  await client.send(toSend(third.url));
  // Both of the first are closed, which were used longest ago; the others are kept.
  await until(
    () => Promise.resolve(first.sockets.every(({ destroyed }) => destroyed)),
    'the oldest are closed',
  );
  await client.send(toSend(second.url));
  expect(second.sockets).toHaveLength(1);
});

test('a connection that its server closed is replaced', async () => {
  const receiver = await startReceiver((_request, response) => {
    response.setHeader('connection', 'close');
    response.end('bye');
  });
  const client = createClient();
  for (let sent = 0; sent < 3; sent += 1) expect((await client.send(toSend(receiver.url))).ok).toBe(true);
  expect(receiver.sockets).toHaveLength(3);
});

test('an ended request listens to its caller no longer', async () => {
  const receiver = await startReceiver();
  const { signal } = new AbortController();
  await createClient().send(toSend(receiver.url), signal);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('giving up and closing end what is running, and leave no connection', async () => {
  const receiver = await startReceiver(() => undefined);
  const client = createClient();
  const controller = new AbortController();
  const given = failureOf(client.send(toSend(receiver.url), controller.signal));
  await until(() => Promise.resolve(receiver.requests.length === 1), 'the request has come');
  controller.abort();
  expect((await given).kind).toBe('aborted');
  await until(() => Promise.resolve(receiver.sockets[0]?.destroyed), 'its connection is closed');

  const closed = failureOf(client.send(toSend(receiver.url)));
  await until(() => Promise.resolve(receiver.requests.length === 2), 'the request has come');
  await client.close();
  expect((await closed).kind).toBe('aborted');
  await until(() => Promise.resolve(receiver.sockets[1]?.destroyed), 'its connection is closed');
  expect((await failing(client, receiver.url)).kind).toBe('aborted');
  expect(receiver.sockets).toHaveLength(2);
  const aborted = client.send(toSend(receiver.url), AbortSignal.abort());
  expect((await failureOf(aborted)).kind).toBe('aborted');
});

test('proxies of the environment are not used', async () => {
  const proxy = await startReceiver();
  const receiver = await startReceiver();
  const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'];
  const before = Object.fromEntries(names.map((name) => [name, process.env[name]]));
  try {
    for (const name of names)
      process.env[name] = name.startsWith('NODE') ? '1' : `http://127.0.0.1:${proxy.port}`;
    await createClient().send(toSend(receiver.url));
  } finally {
    for (const name of names) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  }
  expect(proxy.sockets).toHaveLength(0);
  expect(receiver.requests).toHaveLength(1);
});

test('options out of range are refused', () => {
  for (const options of [
    { timeoutMs: 0 },
    { timeoutMs: Number.NaN },
    { timeoutMs: 2 ** 31 },
    { maxAnswerBytes: -1 },
  ]) {
    expect(() => new WebhookClient(options)).toThrow(expect.objectContaining({ code: 'OPTIONS_INVALID' }));
  }
});

test.each([
  { encoding: 'gzip', described: '[gzip, application/json, 41 bytes]' },
  { encoding: 'GZIP, identity, br', described: '[gzip, br, application/json, 41 bytes]' },
  { encoding: 'x'.repeat(300), described: `[${'x'.repeat(100)}, application/json, 41 bytes]` },
])('a compressed answer is recorded as its encoding, type and size: $encoding', async (one) => {
  const receiver = await startReceiver((_request, response) => {
    response.writeHead(503, { 'content-encoding': one.encoding, 'content-type': 'application/json' });
    response.end(Buffer.alloc(41, 0x1f));
  });
  const outcome = await createClient().send(toSend(receiver.url));
  expect(outcome.snippet).toBe(one.described);
  const message = deliveryMessage({ method: 'post', url: receiver.url, outcome });
  expect(message).toBe(`POST ${receiver.url}: 503 in ${outcome.durationMs} ms: ${one.described}`);
});

test('of a compressed answer that is cut it is said that there was more, without a type that there is none', async () => {
  const receiver = await startReceiver((_request, response) => {
    response.writeHead(200, { 'content-encoding': 'zstd' });
    response.end(Buffer.alloc(1_000_000, 0xff));
  });
  const { snippet } = await createClient().send(toSend(receiver.url));
  expect(snippet).toMatch(/^\[zstd, no content type, more than \d+ bytes\]$/);
});

test('an answer that says it is not compressed, or has no body, is recorded as text', async () => {
  const bodies = ['plain', ''];
  const receiver = await startReceiver((_request, response) => {
    response.writeHead(200, { 'content-encoding': bodies.length === 2 ? 'Identity' : 'gzip' });
    response.end(bodies.shift());
  });
  const client = createClient();
  expect((await client.send(toSend(receiver.url))).snippet).toBe('plain');
  expect((await client.send(toSend(receiver.url))).snippet).toBe('');
});
