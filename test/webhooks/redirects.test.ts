import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { generateSecret } from '../../lib/webhooks/signing-secret.js';
import { holdTimers } from '../support/held-timers.js';
import { until } from '../support/waiting.js';
import { createClient, failing, startReceiver, toSend } from './kit/receivers.js';

const secret = generateSecret();
const request = {
  secrets: [secret],
  headers: {
    authorization: 'Bearer first-only',
    cookie: 'a=b',
    'x-api-key': 'first-only',
    accept: 'text/plain',
  },
};

test('a redirect is not followed, and no success', async () => {
  const target = await startReceiver();
  for (const location of [
    target.url,
    'http://169.254.169.254/latest/meta-data?token=abc',
    '/elsewhere',
    'ht!tp:',
  ]) {
    const receiver = await startReceiver((_request, response) => {
      response.writeHead(302, { location });
      response.end();
    });
    const answer = await createClient().send(toSend(receiver.url, request));
    expect(answer).toMatchObject({ status: 302, ok: false });
    expect(answer.location ?? '').not.toContain('abc');
  }
  expect(target.sockets).toHaveLength(0);
});

test.each([
  [301, 'POST', 'GET'],
  [302, 'PUT', 'GET'],
  [303, 'DELETE', 'GET'],
  [307, 'POST', 'POST'],
  [308, 'PUT', 'PUT'],
  [302, 'DELETE', 'DELETE'],
])('followed when asked for: %i of a %s becomes a %s', async (status, method, expected) => {
  const receiver = await startReceiver(({ path }, response) => {
    response.writeHead(path === '/hook' ? status : 201, { location: '/next' });
    response.end('done');
  });
  const client = createClient({ redirects: 'follow' });
  const answer = await client.send(toSend(receiver.url, { ...request, method, body: '{"a":1}' }));
  expect(answer).toMatchObject({ status: 201, ok: true });
  const [first, second] = receiver.requests;
  expect(second).toMatchObject({ method: expected, path: '/next' });
  // The same origin may know what it was told before.
  expect(second?.headers).toMatchObject({ authorization: 'Bearer first-only', 'webhook-id': 'msg_1' });
  expect(second?.body.toString()).toBe(expected === method ? first?.body.toString() : '');
  const keepsBody = expected === method && method !== 'DELETE';
  expect(second?.headers['content-type']).toBe(keepsBody ? 'application/json' : undefined);
  // A signature is over the body, and sent as long as that is.
  const verify = (): unknown =>
    new Webhook(secret).verify(second?.body.toString() ?? '', second?.headers as Record<string, string>);
  expect(expected === method ? 'verified' : 'unsigned').toBe(outcomeOf(verify));
});

function outcomeOf(verify: () => unknown): string {
  try {
    verify();
    return 'verified';
  } catch (error) {
    return String(error).includes('Missing required headers') ? 'unsigned' : String(error);
  }
}

test('another origin is told no key and no signature, nor is the first one when it comes back', async () => {
  const target = await startReceiver(({ path }, response) => {
    response.writeHead(path === '/a' ? 307 : 200, { location: `${origin}/back` });
    response.end();
  });
  const receiver = await startReceiver(({ path }, response) => {
    response.writeHead(path === '/hook' ? 307 : 200, { location: `http://127.0.0.1:${target.port}/a` });
    response.end('back');
  });
  const origin = `http://127.0.0.1:${receiver.port}`;
  const client = createClient({ redirects: 'follow' });
  expect(await client.send(toSend(receiver.url, request))).toMatchObject({ status: 200, snippet: 'back' });
  for (const { headers, body } of [target.requests[0], receiver.requests[1]].filter(
    (one) => one !== undefined,
  )) {
    expect(headers).toMatchObject({ accept: 'text/plain', 'content-type': 'application/json' });
    expect(JSON.stringify(headers)).not.toMatch(/first-only|cookie|webhook-/);
    expect(body.toString()).toBe('{}');
  }
  expect([target.requests.length, receiver.requests.length]).toEqual([1, 2]);
});

test.each([
  ['http://169.254.169.254/latest/meta-data', 'refused-address'],
  ['http://[::ffff:a9fe:a9fe]/', 'refused-address'],
  ['http://2130706434/', 'refused-address'],
  ['//localhost/', 'refused-address'],
  ['file:///etc/passwd', 'refused-url'],
  ['ftp://127.0.0.1/', 'refused-url'],
  ['http://user:secret@127.0.0.1/', 'refused-url'],
])('not followed to %s', async (location, kind) => {
  const receiver = await startReceiver((_request, response) => {
    response.writeHead(307, { location });
    response.end();
  });
  const failure = await failing(createClient({ redirects: 'follow' }), receiver.url, request);
  expect(failure.kind).toBe(kind);
  expect(failure.message).not.toContain('secret');
});

test('five are followed, six are not', async () => {
  let left = 5;
  const receiver = await startReceiver((_request, response) => {
    left -= 1;
    response.writeHead(left >= 0 ? 307 : 200, { location: '/again' });
    response.end();
  });
  const client = createClient({ redirects: 'follow' });
  expect((await client.send(toSend(receiver.url))).status).toBe(200);
  expect(receiver.requests).toHaveLength(6);
  left = 6;
  expect((await failing(client, receiver.url)).kind).toBe('too-many-redirects');
  expect(receiver.requests).toHaveLength(12);
});

test('the deadline is one over all of them', async () => {
  const timeoutMs = 54_321;
  const deadlines = holdTimers((ms) => ms === timeoutMs);
  const receiver = await startReceiver((_request, response) => {
    if (receiver.requests.length === 3) return;
    response.writeHead(307, { location: '/again' });
    response.end();
  });
  const failure = failing(createClient({ redirects: 'follow', timeoutMs }), receiver.url);
  await until(async () => receiver.requests.length === 3, 'two redirects were followed');
  expect(deadlines.asked).toEqual([timeoutMs]);
  deadlines.ringFirst();
  expect((await failure).kind).toBe('timeout');
});

test('where they are followed, 3xx that lead nowhere are success, as they were', async () => {
  for (const [status, location] of [
    [304, '/'],
    [300, '/'],
    [302, undefined],
    [302, 'http://['],
  ] as const) {
    const receiver = await startReceiver((_request, response) => {
      response.writeHead(status, location === undefined ? {} : { location });
      response.end();
    });
    const answer = await createClient({ redirects: 'follow' }).send(toSend(receiver.url));
    expect(answer).toMatchObject({ status, ok: true });
  }
});
