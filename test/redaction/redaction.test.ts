import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { redacted, Redaction } from '../../lib/redaction/redaction.js';
import { isSecretName } from '../../lib/redaction/secret-names.js';
import { hideCredentials } from '../../lib/redaction/url-credentials.js';
import { textJson } from '../../lib/dashboard/to-json.js';

const builtIn = new Redaction([]);
const withoutSecrets = (text: string): string => builtIn.text(text).text;
const redact = (value: unknown, rules: readonly string[] = []): unknown =>
  JSON.parse(JSON.stringify(new Redaction(rules).redact(value).value));

describe('a name says that its value is secret', () => {
  test.each([
    'password',
    'Senha',
    'access_token',
    'X-Api-Key',
    'clientSecret',
    'Authorization',
    'set-cookie',
    'PRIVATE KEY',
    'password_confirmation',
    'senhaAtual',
    'novaSenha2',
    'secret_key',
    'secretKeyBase',
    'tokens',
    'JWTs',
    'idJwt',
    'pin',
    'userPIN',
    'pin-code',
    'otp',
    'otpCode',
    'sessionId',
    'session_ids',
    'idSessao',
    'passWord',
    'minhasenha',
    'newpasswordhash',
    'db.pass',
    'auth',
    'codigoDeSeguranca',
    'ｐａｓｓｗｏｒｄ',
    'contraseña',
    'pass\u00adword',
    'user[password]',
    'tokenCountSecret',
    'oauth2Token',
    `password${'x'.repeat(5_000)}`,
  ])('%s', (name) => {
    expect(isSecretName(name)).toBe(true);
    expect(redact({ a: [{ [name]: { x: 1 } }], b: 2 })).toEqual({ a: [{ [name]: redacted }], b: 2 });
  });
});

describe('a name only looks like that', () => {
  test.each([
    'tokenCount',
    'tokencount',
    'token_type',
    'max_tokens',
    'promptTokens',
    'tokenizer',
    'passwordChangedAt',
    'password_policy',
    'passwordless',
    'hasPassword',
    'isTokenValid',
    'secretary',
    'secretaria',
    'resenha',
    'desenhado',
    'isEnhanced',
    'businessEnhancement',
    'pinned',
    'pinterest',
    'shipping',
    'spin',
    'opinion',
    'cookieConsent',
    'author',
    'authorId',
    'authType',
    'key',
    'keyword',
    'monkey',
    'chaveAcesso',
    'session',
    'passenger',
    'compass',
    'passRate',
    'cpf',
    'secRetries',
    '',
    '123',
  ])('%s', (name) => {
    expect(isSecretName(name)).toBe(false);
  });
});

test('rules name values anywhere, or by their path, also in texts that are JSON', () => {
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
  expect(redact({ buyer: '{"card":{"number":"3"}}' }, ['buyer.card.number'])).toEqual({
    buyer: `{"card":{"number":"${redacted}"}}`,
  });
  expect(new Redaction(['cpf']).text('cpf=123&x=1').text).toBe(`cpf=${redacted}&x=1`);
});

test('everything else is as it was, and what was given is not changed', () => {
  const harmless = fc.jsonValue().filter((value) => !/[:=]|[a-z]{3}/i.test(namesAndTexts(value).join('\n')));
  fc.assert(
    fc.property(harmless, (value) => {
      const before = JSON.stringify(value);
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

test('a value whose name is in a field of its own is hidden', () => {
  expect(
    redact([
      { name: 'Authorization', value: 'x' },
      { key: 'db_password', Value: ['x'] },
      { campo: 'senha', valor: 'x', tipo: 'texto' },
      { name: 'colour', value: 'red' },
      ['x-api-key', 'x'],
      ['colour', 'red'],
    ]),
  ).toEqual([
    { name: 'Authorization', value: redacted },
    { key: 'db_password', Value: redacted },
    { campo: 'senha', valor: redacted, tipo: 'texto' },
    { name: 'colour', value: 'red' },
    ['x-api-key', redacted],
    ['colour', 'red'],
  ]);
  expect(redact({ required: ['password', 'email'] })).toEqual({ required: ['password', 'email'] });
  expect(redact([{ name: 'cpf', value: '1' }], ['cpf'])).toEqual([{ name: 'cpf', value: redacted }]);
});

test('of a name that is there twice no value is shown', () => {
  const text = '{"token": "s3cret", "token": null, "id": 1}';
  expect(new Redaction([]).text(text).text).not.toContain('s3cret');
});

test('what is not hidden stays as it is written: digits, blanks, names that are there twice', () => {
  const text = (token: string): string =>
    `{ "id":  12345678901234567890, "token": ${token}, "n": [1e400, 1.10],"id":-0.0, "in": "{\\"n\\": 1.50,\\"pin\\":2}" }`;
  const inner = (shown: string): string => shown.replace('\\"pin\\":2', `\\"pin\\":\\"${redacted}\\"`);
  expect(new Redaction([]).text(text('{"a": ["}"]}'))).toEqual({
    text: inner(text(`"${redacted}"`)),
    count: 2,
  });
  const plain = '{"id":  12345678901234567890}';
  expect(new Redaction([]).text(plain)).toEqual({ text: plain, count: 0 });
});

test.each<[what: string, text: string, shown: string]>([
  [
    'JSON within a message',
    'refused: {"user":"ana","password":"s3 \\" cret","n":1}',
    `refused: {"user":"ana","password":"${redacted}","n":1}`,
  ],
  ['JSON that was cut', '{"id":1,"token":"s3cr', `{"id":1,"token":"${redacted}"`],
  [
    'escaped JSON',
    'body "{\\"token\\":\\"s3\\\\\\"cret\\",\\"n\\":1}" end',
    `body "{\\"token\\":\\"${redacted}\\",\\"n\\":1}" end`,
  ],
  ['an object under such a name', 'got {"secret":{"a":["}",1]},"n":1}', `got {"secret":${redacted},"n":1}`],
  ['a query', 'GET /x?id=1&access_token=s3cret&y=2#z', `GET /x?id=1&access_token=${redacted}&y=2#z`],
  ['a name that is encoded', 'https://h/x?to%6ben=s3cret', `https://h/x?to%6ben=${redacted}`],
  ['a form', 'user=ana&senha=s3cret', `user=ana&senha=${redacted}`],
  ['a connection string', 'Server=db;Password=s3cret;Port=1', `Server=db;Password=${redacted};Port=1`],
  ['an object as Node shows it', `{ token: 's3cret', n: 1 }`, `{ token: '${redacted}', n: 1 }`],
  ['a header', 'Authorization: Bearer s3cret, next', `Authorization: ${redacted}, next`],
  ['cookies', 'Cookie: a=1; b=2\nHost: x', `Cookie: ${redacted}\nHost: x`],
  ['prose', 'Unexpected token: a word, password is wrong', 'Unexpected token: a word, password is wrong'],
])('%s is shown without its secrets', (_what, text, shown) => {
  expect(withoutSecrets(text)).toBe(shown);
});

describe('credentials in addresses are hidden', () => {
  test.each([
    [
      'cannot reach postgres://ana:s3cret@db:5432/shop, or https://token@host/x',
      `cannot reach postgres://${redacted}@db:5432/shop, or https://${redacted}@host/x`,
    ],
    ['postgres://ana:s3/cr?et@db/shop', `postgres://${redacted}@db/shop`],
    ['postgres://ana:s3 cr et@db/shop', `postgres://${redacted}@db/shop`],
    ['postgres://ana:s3@cr@et@db/shop', `postgres://${redacted}@db/shop`],
    ['redis://:s3@cr/et x@cache:6379', `redis://${redacted}@cache:6379`],
    ['https://ana:s3#cret@host/x', `https://${redacted}@host/x`],
    ['amqp://ana:12345/6@host', `amqp://${redacted}@host`],
    ['cut: postgres://ana:s3cr', `cut: postgres://${redacted}`],
  ])('%s', (text, shown) => {
    expect(withoutSecrets(text)).toBe(shown);
  });

  test.each([
    'see https://example.org/a@b and mail ana@example.org',
    'http://localhost:8080/path@x',
    'redis://cache:6379',
    'postgres://db:5432/shop?x=1',
    'http://[::1]:3000/x',
    'https://example.org:443',
  ])('%s has none', (text) => {
    expect(withoutSecrets(text)).toBe(text);
  });

  test('whatever the password is made of', () => {
    const password = fc
      .string({ minLength: 4, maxLength: 30, unit: fc.constantFrom(...'aZ09/@ :?#%&=.,+-_~!$*()'.split('')) })
      .map((text) => `s3cret${text}s3cret`);
    fc.assert(
      fc.property(password, (secret) => {
        fc.pre(!secret.includes('://'));
        const shown = withoutSecrets(`no answer of postgres://ana:${secret}@db.local:5432/shop`);
        expect(shown).toBe(`no answer of postgres://${redacted}@db.local:5432/shop`);
      }),
    );
  });
});

test('addresses of a line are hidden without a look at other lines', () => {
  const parts = fc.constantFrom(
    'a://',
    'b',
    '@',
    ':',
    '/',
    ' ',
    '"',
    '://',
    '1',
    '\r',
    'https://',
    '[',
    '?',
    ',',
    'é',
  );
  const texts = fc.array(parts, { maxLength: 30 }).map((some) => some.join(''));
  fc.assert(
    fc.property(texts, (text) => {
      const shown = hideCredentials(text);
      expect(hideCredentials(`${text}\n${text}`)).toBe(`${shown}\n${shown}`);
    }),
  );
});

test('a secret is found before a text is cut, and in a text that was cut', () => {
  const text = `${'x'.repeat(30)} postgres://ana:s3cret@db/shop`;
  for (let most = 1; most < text.length; most += 1) {
    expect(textJson(text, builtIn, most).text, `at ${most}`).not.toContain('s3');
    expect(textJson(text.slice(0, most), builtIn, 1_000).text, `at ${most}`).not.toContain('s3c');
  }
  expect(textJson(text, builtIn, 40).length).toBe(text.length);
});

describe('wherever a secret is put', () => {
  const secret = 's3cr3t-v4lue';
  const name = fc.constantFrom(
    'password',
    'password_confirmation',
    'senhaAtual',
    'SECRET_KEY',
    'refresh-token',
    'sessionId',
    'x.api.key',
    'otp',
  );
  const put = (value: unknown, key: string, ways: readonly number[]): unknown =>
    ways.reduce<unknown>(
      (inner, way) =>
        [
          () => ({ a: 1, inner }),
          () => [inner, 'x'],
          () => JSON.stringify(inner),
          () => ({ [key]: inner }),
          () => ({ name: key, value: inner }),
        ][way]?.() ?? inner,
      value,
    );

  test('it is hidden, in JSON in JSON and in a message alike', () => {
    const ways = fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 6 });
    fc.assert(
      fc.property(name, ways, fc.boolean(), (key, path, isPair) => {
        const value = isPair ? { key, value: secret } : { n: 1, [key]: secret };
        const whole = put(value, 'colour', path);
        expect(JSON.stringify(redact(whole))).not.toContain(secret);
        const text = new Redaction([]).text(
          `failed with ${JSON.stringify({ n: 1, [key]: secret })} at x`,
        ).text;
        expect(text).not.toContain(secret);
      }),
    );
  });

  test('JSON stays JSON', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        expect(() => JSON.parse(new Redaction([]).text(json).text) as unknown).not.toThrow();
      }),
    );
  });
});

test('JSON that is nested deep does not overflow the stack', () => {
  const deep = (value: string): string => `${'['.repeat(50_000)}{"token":${value}}${']'.repeat(50_000)}`;
  expect(new Redaction([]).text(deep('1'))).toEqual({ text: deep(`"${redacted}"`), count: 1 });
  // Nor can it be shown.
  expect(new Redaction([]).redact(JSON.parse(deep('1')))).toEqual({ value: redacted, count: 1 });
  let text = '{"token":"s3cret"}';
  for (let level = 0; level < 16; level += 1) text = JSON.stringify(text);
  expect(new Redaction([]).text(text).text).not.toContain('s3cret');
});

/** Each would take minutes if it were looked at again for each of its characters. */
test.each<[what: string, part: string]>([
  ['quotes', '"'],
  ['backslashes', '\\'],
  ['escaped quotes', '\\"'],
  ['names without end', '"token'],
  ['names without values', '"token":'],
  ['values without end', '"token":"'],
  ['lists without end', '"token":['],
  ['letters', 'a'],
  ['brackets', '['],
  ['braces in texts', '["{", '],
  ['blanks', ' '],
  ['equals signs', 'a='],
  ['encoded names', '%74oken='],
  ['addresses', 'a://b:'],
  ['ats', '@'],
  ['colons', '://'],
  ['an address with many ats', 'a://b:c@d '],
  ['schemes', 'a+b.'],
  ['ligatures', 'ﷺ'],
])('many %s take no longer than their length', (_what, part) => {
  const text = part.repeat(200_000 / part.length);
  const redaction = new Redaction(['cpf', 'a.*.b']);
  for (const hostile of [text, `"${text}`, `{"a":"${text}`, `[${text}]`, `postgres://a:${text}`]) {
    redaction.text(hostile);
  }
  const { value } = redaction.redact({ n: 1, [text]: text, b: [{ name: text, value: text }] });
  expect(value).toMatchObject({ n: 1 });
});

function namesAndTexts(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, one]) => [key, ...namesAndTexts(one)]);
}
