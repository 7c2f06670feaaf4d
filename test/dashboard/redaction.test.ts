import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { redacted, Redaction, withoutCredentials } from '../../lib/dashboard/redaction.js';

const redact = (value: unknown, rules: readonly string[] = []): unknown =>
  JSON.parse(JSON.stringify(new Redaction(rules).redact(value).value));

test('what its name says is secret is hidden anywhere, with all that is in it', () => {
  const names = [
    'password',
    'Senha',
    'access_token',
    'X-Api-Key',
    'clientSecret',
    'Authorization',
    'set-cookie',
    'PRIVATE KEY',
  ];
  for (const name of names) {
    expect(redact({ a: [{ [name]: { x: 1 } }], b: 2 })).toEqual({ a: [{ [name]: redacted }], b: 2 });
  }
});

test('rules name values anywhere, or by their path', () => {
  const value = {
    cpf: '1',
    buyer: { CPF: '2', card: { number: '3' } },
    cards: [{ number: '4' }, { number: '5' }],
  };
  expect(redact(value, ['cpf'])).toEqual(redact(value, ['*.cpf']));
  expect(redact(value, ['cpf', 'cards.*.number'])).toEqual({
    cpf: redacted,
    buyer: { CPF: redacted, card: { number: '3' } },
    cards: [{ number: redacted }, { number: redacted }],
  });
  expect(redact(value, ['buyer.card'])).toMatchObject({ buyer: { card: redacted } });
});

test('everything else is as it was, and what was given is not changed', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const before = JSON.stringify(value);
      // Names that chance makes secret.
      fc.pre(!/cvv|cvc|token|senha/i.test(before.replace(/[^\p{L}\p{N}]/gu, '')));
      expect(redact(value, ['no.such.path'])).toEqual(JSON.parse(before));
      expect(JSON.stringify(value)).toBe(before);
    }),
  );
});

test('how many values were hidden is told; null tells nothing and stays', () => {
  expect(new Redaction([]).redact({ token: null, password: 'x', secret: 0 })).toMatchObject({ count: 2 });
});

test('names that mean something to JavaScript are names', () => {
  const value: unknown = JSON.parse('{"__proto__": {"token": "x"}, "constructor": {"prototype": 1}}');
  const { value: copy, count } = new Redaction([]).redact(value);
  expect(count).toBe(1);
  expect(JSON.stringify(copy)).toBe(`{"__proto__":{"token":"${redacted}"},"constructor":{"prototype":1}}`);
  expect(({} as { token?: unknown }).token).toBeUndefined();
});

test('JSON that is nested deep does not overflow the stack', () => {
  const deep: unknown = JSON.parse(`${'['.repeat(50_000)}{"token":1}${']'.repeat(50_000)}`);
  expect(new Redaction([]).redact(deep).count).toBe(1);
});

test('credentials in addresses are hidden, wherever they stand in a message', () => {
  expect(withoutCredentials('cannot reach postgres://ana:s3cret@db:5432/shop, or https://token@host/x')).toBe(
    `cannot reach postgres://${redacted}@db:5432/shop, or https://${redacted}@host/x`,
  );
  expect(withoutCredentials('see https://example.org/a@b and mail ana@example.org')).toBe(
    'see https://example.org/a@b and mail ana@example.org',
  );
});
