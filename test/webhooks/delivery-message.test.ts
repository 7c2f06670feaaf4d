import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { deliveryMessage, type DeliveryRecord } from '../../lib/webhooks/delivery-message.js';
import { generateSecret } from '../../lib/webhooks/signing-secret.js';
import type { WebhookAnswer } from '../../lib/webhooks/webhook-answer.js';
import { WebhookFailure } from '../../lib/webhooks/webhook-failure.js';

const answered = (snippet: string, status = 200): WebhookAnswer => ({
  status,
  ok: status === 200,
  durationMs: 41,
  headers: {},
  snippet,
});

function message(outcome: DeliveryRecord['outcome'], record: Partial<DeliveryRecord> = {}): string {
  return deliveryMessage({ method: 'post', url: 'https://hooks.example.com/orders', outcome, ...record });
}

test('tells method, URL, status, duration and the answer', () => {
  expect(message(answered('{"ok":true}'))).toBe(
    'POST https://hooks.example.com/orders: 200 in 41 ms: {"ok":true}',
  );
  expect(message(answered(' \n', 204))).toBe('POST https://hooks.example.com/orders: 204 in 41 ms');
  expect(message({ ...answered('', 302), location: 'https://elsewhere.example/x' })).toBe(
    'POST https://hooks.example.com/orders: 302 (redirect to https://elsewhere.example/x, not followed) in 41 ms',
  );
});

test('tells why there was no answer', () => {
  const failure = new WebhookFailure('timeout', 'hooks.example.com did not respond within 300 ms');
  expect(message(failure)).toBe(
    'POST https://hooks.example.com/orders: timeout: hooks.example.com did not respond within 300 ms',
  );
  failure.durationMs = 301;
  expect(message(failure, { method: null, url: 'nonsense with hunter2' })).toBe(
    'NO METHOD (no URL): timeout after 301 ms: hooks.example.com did not respond within 300 ms',
  );
});

test('what was secret in the request is removed from the answer, in every spelling', () => {
  const secret = generateSecret();
  const headers = {
    Authorization: 'Basic dXNlcjpodW50ZXIy',
    'X-Api-Key': 'key-"quoted"/4711',
    Cookie: 'session=abcdef; theme=dark',
    'Content-Type': 'application/json',
  };
  const url = 'https://hooks.example.com/orders?token=query-secret&x=1&y=a%20b%2Fcd';
  const echoes = [
    JSON.stringify({ headers, url, secret }),
    `${Object.values(headers).join('\n')} ${url} ${secret} ${secret.slice(6)} user:hunter2 hunter2`,
    `${encodeURIComponent(headers['X-Api-Key'])} ${decodeURIComponent(url)}`,
    'Bearer eyJhbGciOi.J9.x-y_z and authorization: BEARER   abcdefgh12345678',
    `a receiver's own ${generateSecret()}`,
  ];
  for (const echo of echoes) {
    const text = message(answered(echo), { url, headers, secrets: [secret] });
    expect(text).not.toMatch(
      /hunter2|dXNlcjpo|4711|session=|query-secret|a%20b|a b\/cd|whsec_\w|eyJ|abcdefgh1234/,
    );
    expect(text).not.toContain(secret.slice(6));
    expect(text).toContain('[removed]');
  }
  // One secret may be the beginning of another.
  const nested = message(answered('abcdefgh'), { headers: { 'x-a': 'abcd', 'x-b': 'abcdefgh' } });
  expect(nested).not.toContain('efgh');
  const kept = message(answered('expected application/json, x was 1'), { url, headers, secrets: [secret] });
  expect(kept).toContain('expected application/json, x was 1');
});

test('no control characters, no half characters, nothing that turns the text around', () => {
  const text = message(answered('a\u0000b\r\nc\u001b[31md\u202ee\u2066f\u2028g\ud800h\u0085i'));
  expect(text).toMatch(/: a b c \[31md e f g\ufffdh i$/);
});

test('at most 500 characters, as a database counts them, and always valid unicode', () => {
  expect(Array.from(message(answered('🐢'.repeat(2_000))))).toHaveLength(500);
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 700 }),
      fc.string({ unit: 'binary', maxLength: 20 }),
      (snippet, secret) => {
        const text = message(answered(snippet), { secrets: [secret], headers: { 'x-key': secret } });
        expect(Array.from(text).length).toBeLessThanOrEqual(500);
        expect(text.isWellFormed()).toBe(true);
        expect(text).not.toMatch(/\p{Cc}/u);
      },
    ),
    { numRuns: 40 },
  );
});
