import { expect, test } from 'vitest';
import { hasCode } from '../../../lib/errors.js';
import { resolveOptions } from '../../../lib/assembly/resolve-options.js';

const needed = { connection: 'postgres://localhost/shop', queue: 'orders' } as const;
const url = 'http://loki:3100/loki/api/v1/push';

type Env = Readonly<Record<string, string>>;

const resolve = (loki: unknown, env: Env = {}) =>
  resolveOptions({ ...needed, loki: loki as never }, env).loki;

function mistakes(loki: unknown, env: Env = {}): readonly string[] {
  try {
    resolve(loki, env);
    return [];
  } catch (error) {
    if (!hasCode(error, 'OPTIONS_INVALID')) throw error;
    return error.message.split('\n- ').slice(1);
  }
}

test('lines go to Loki when GRAFANA_URL is set, unless the options say otherwise', () => {
  expect(resolve(undefined)).toBeUndefined();
  expect(resolve({ labels: { team: 'a' } })).toBeUndefined();
  expect(resolve(undefined, { GRAFANA_URL: url })?.address.url).toBe(url);
  expect(resolve({ gzip: true }, { GRAFANA_URL: ` ${url} ` })?.address.url).toBe(url);
  expect(resolve(null, { GRAFANA_URL: url })?.address.url).toBe(url);
  expect(resolve({ url: null, tenant: null, labels: null }, { GRAFANA_URL: url })?.address.url).toBe(url);
  for (const blank of ['', '  ']) expect(resolve(undefined, { GRAFANA_URL: blank })).toBeUndefined();
  expect(resolve({ url: '' }, { GRAFANA_URL: url })).toBeUndefined();
  expect(resolve(false, { GRAFANA_URL: url })).toBeUndefined();
  expect(resolve({ url: 'https://other/push' }, { GRAFANA_URL: url })?.address.url).toBe(
    'https://other/push',
  );
});

test('the defaults', () => {
  expect(resolve({ url })).toEqual({
    address: { url, shown: url, headers: {}, secrets: [] },
    labels: { DEV_flask_api_skeleton: 'dev_log', app: 'nestjs-tarefa', queue: 'orders' },
    gzip: false,
    intervalMs: 1_000,
    batchLines: 1_000,
    batchBytes: 262_144,
    bufferLines: 10_000,
    bufferBytes: 4_194_304,
    timeoutMs: 10_000,
    flushMs: 3_000,
  });
});

test.each([
  ['prod', 'PROD_flask_api_skeleton', 'prod_log'],
  ['Pre-Prod.2', 'PRE_PROD_2_flask_api_skeleton', 'pre-prod.2_log'],
  ['2nd', '_2ND_flask_api_skeleton', '2nd_log'],
  ['é"{}', '_flask_api_skeleton', 'é"{}_log'],
  ['  ', 'DEV_flask_api_skeleton', 'dev_log'],
])('ENV=%s makes the label %s', (env, name, value) => {
  expect(resolve({ url }, { ENV: env })?.labels).toMatchObject({ [name]: value });
});

test('the option wins over ENV', () => {
  expect(resolve({ url, env: 'Test' }, { ENV: 'other' })?.labels).toMatchObject({
    TEST_flask_api_skeleton: 'test_log',
  });
});

test('labels of the application come to it, and may replace app', () => {
  expect(resolve({ url, labels: { app: 'shop', region: 'sul' } })?.labels).toEqual({
    DEV_flask_api_skeleton: 'dev_log',
    app: 'shop',
    region: 'sul',
    queue: 'orders',
  });
});

test('a URL is used without its credentials, and shown without its query', () => {
  expect(resolve({ url: 'https://ana:p%40ss@logs.example:8443/push?token=abc' })?.address).toEqual({
    url: 'https://logs.example:8443/push?token=abc',
    shown: 'https://logs.example:8443/push',
    headers: { authorization: `Basic ${btoa('ana:p@ss')}` },
    secrets: [btoa('ana:p@ss'), 'p@ss', 'abc'],
  });
  const explicit = resolve({ url: 'https://ana:old@h/p', basicAuth: { username: 'eva', password: 'new' } });
  expect(explicit?.address.headers).toEqual({ authorization: `Basic ${btoa('eva:new')}` });
});

test.each<readonly [loki: unknown, mistake: RegExp]>([
  [true, /^loki must be an object, or false$/],
  ['http://loki', /^loki must be an object, or false$/],
  [[], /^loki must be an object, or false$/],
  [{ URL: url }, /^unknown option 'loki\.URL': did you mean 'loki\.url'\?$/],
  [{ url: 5 }, /^loki\.url must be a URL that begins with http:/],
  [{ url: 'loki:3100/loki/api/v1/push' }, /^loki\.url must be a URL/],
  [{ url: 'ftp://h/p' }, /^loki\.url must be a URL/],
  [{ url: 'http://a:%zz@h/p' }, /^loki\.url has a user or password that cannot be read/],
  [{ url, env: '' }, /^loki\.env must be text$/],
  [{ url, env: 5 }, /^loki\.env must be text$/],
  [{ url, labels: [] }, /^loki\.labels must be an object/],
  [{ url, labels: { 'a-b': 'x' } }, /^loki\.labels: "a-b" is not a valid label name$/],
  [{ url, labels: { __a: 'x' } }, /^loki\.labels: "__a" is not a valid label name/],
  [{ url, labels: { queue: 'x' } }, /^loki\.labels: queue is set by the library$/],
  [{ url, labels: { a: '' } }, /^loki\.labels\.a must be text/],
  [{ url, labels: { a: 5 } }, /^loki\.labels\.a must be text/],
  [
    { url, labels: Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`l${n}`, 'x'])) },
    /^loki\.labels can have at most 10 labels, not 11$/,
  ],
  [{ url, tenant: '' }, /^loki\.tenant must be text$/],
  [{ url, headers: { 'a b': 'x' } }, /^loki\.headers \(or loki\.tenant\) contain a name or a value/],
  [{ url, headers: { a: 5 } }, /^loki\.headers/],
  [{ url, basicAuth: { username: 'a' } }, /^loki\.basicAuth must be/],
  [{ url, basicAuth: { username: 'a:b', password: 'c' } }, /^loki\.basicAuth must be/],
  [{ url, basicAuth: 'a:b' }, /^loki\.basicAuth must be/],
  [{ url, gzip: 1 }, /^loki\.gzip must be true or false/],
  [{ url, intervalMs: 0 }, /^loki\.intervalMs must be a whole number from 1/],
  [{ url, batchLines: 1.5 }, /^loki\.batchLines must be/],
  [{ url, bufferBytes: '5' }, /^loki\.bufferBytes must be/],
  [{ url, flushMs: -1 }, /^loki\.flushMs must be a whole number from 0/],
])('mistake %#', (loki, mistake) => {
  expect(mistakes(loki)).toEqual([expect.stringMatching(mistake)]);
});

test('a mistaken GRAFANA_URL is named, and does not matter where an option stands in its place', () => {
  expect(mistakes(undefined, { GRAFANA_URL: 'loki' })).toEqual([
    'GRAFANA_URL must be a URL that begins with http:// or https://',
  ]);
  expect(mistakes({ url }, { GRAFANA_URL: 'loki' })).toEqual([]);
  expect(mistakes(false, { GRAFANA_URL: 'loki' })).toEqual([]);
});

test('mistaken values that hold secrets are not shown', () => {
  const secret = 's3cr3t';
  const all = [
    mistakes({ url: `ana:${secret}@loki/push` }),
    mistakes({ url: `ftp://ana:${secret}@loki/push` }),
    mistakes({ url: `http://ana:${secret}%zz@loki/push` }),
    mistakes(undefined, { GRAFANA_URL: `ana:${secret}@loki` }),
    mistakes({ url, headers: { authorization: `${secret}\nx` } }),
    mistakes({ url, basicAuth: { username: 'a:b', password: secret } }),
    mistakes({ url, basicAuth: secret }),
    mistakes(`http://ana:${secret}@loki`),
  ];
  for (const texts of all) {
    expect(texts).toHaveLength(1);
    expect(texts.join()).not.toContain(secret);
  }
});
