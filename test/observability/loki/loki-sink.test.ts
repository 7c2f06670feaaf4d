import { createServer } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { holdTimers } from '../../support/held-timers.js';
import { until } from '../../support/waiting.js';
import { lineOf, makeSink } from './line-of.js';
import { StandInLoki } from './stand-in-loki.js';

/** Timers of this delay ring when a test says so. */
const longMs = 54_321;

let loki: StandInLoki;

beforeEach(async () => {
  loki = await StandInLoki.start();
});

afterEach(async () => {
  await loki.stop();
});

const received = (count: number) =>
  until(async () => loki.lines.length >= count, `${count} lines have arrived`);

test('lines arrive in their order, with their fields, in streams by level and component', async () => {
  const { sink } = makeSink({ url: loki.url, batchLines: 7 });
  const levels = ['debug', 'log', 'warn', 'error'] as const;
  for (let n = 0; n < 40; n += 1) {
    const level = levels[n % 4] ?? 'log';
    sink.write(lineOf(`line ${n}`, { level, component: n % 2 ? 'tasks' : 'worker', fields: { n } }));
  }
  await received(40);
  expect(loki.texts.toSorted(byNumber)).toEqual(Array.from({ length: 40 }, (_, n) => `line ${n}`));
  expect(loki.lines.toSorted((a, b) => Number(a.time - b.time)).map(({ fields }) => fields['n'])).toEqual(
    Array.from({ length: 40 }, (_, n) => String(n)),
  );
  expect(new Set(loki.lines.map(({ labels }) => `${labels['level']} ${labels['component']}`))).toEqual(
    new Set(['debug worker', 'info tasks', 'warn worker', 'error tasks']),
  );
  expect(loki.pushes.length).toBeGreaterThan(5);
  await until(async () => sink.stats().waiting === 0, 'nothing waits');
  await sink.close();
  expect(sink.stats()).toEqual({ sent: 40, dropped: 0, waiting: 0, waitingBytes: 0, failure: undefined });
});

test('any text survives the way: quotes, blanks, equal signs, backslashes, line ends, other alphabets', async () => {
  const { sink } = makeSink({ url: loki.url });
  const texts = [
    'plain',
    'a b',
    'a="b"',
    'c:\\d',
    'two\nlines',
    'é € 😀',
    '',
    ' ',
    '\u2028',
    'x=y',
    '{"a":1}',
  ];
  for (const text of texts)
    sink.write(lineOf(text, { fields: { value: text }, stack: `    at ${text}\n    at b` }));
  await received(texts.length);
  expect(loki.lines.map(({ fields }) => [fields['msg'], fields['value'], fields['stack']])).toEqual(
    texts.map((text) => [text, text, `    at ${text}\n    at b`]),
  );
  await sink.close();
});

test('a batch is sent when it has enough lines or bytes, without waiting for the interval', async () => {
  const { sink } = makeSink({ url: loki.url, intervalMs: 3_600_000, batchLines: 3, batchBytes: 1_024 });
  for (let n = 0; n < 3; n += 1) sink.write(lineOf(`line ${n}`));
  await received(3);
  sink.write(lineOf('x'.repeat(2_000)));
  await received(4);
  sink.write(lineOf('alone'));
  await sink.close();
  expect(loki.pushes.map(({ lines }) => lines.length)).toEqual([3, 1, 1]);
});

test.each([false, true])('credentials, tenant and headers are sent; compressed: %s', async (gzip) => {
  const url = loki.url.replace('http://', 'http://ana:p%40ss@').concat('?token=t0ken');
  const { sink } = makeSink({ url, gzip, tenant: 'shop', headers: { 'X-Extra': 'more' } });
  sink.write(lineOf('hello'));
  await received(1);
  expect(loki.pushes[0]?.headers).toMatchObject({
    authorization: `Basic ${Buffer.from('ana:p@ss').toString('base64')}`,
    'x-scope-orgid': 'shop',
    'x-extra': 'more',
  });
  expect(loki.pushes[0]?.headers['content-encoding']).toBe(gzip ? 'gzip' : undefined);
  await sink.close();
});

test.each([429, 500, 503])(
  'after %i the same lines are sent again, until they are taken; said once',
  async (status) => {
    const { sink, told } = makeSink({ url: loki.url });
    loki.refuse(status, 'busy');
    sink.write(lineOf('first'));
    await until(async () => loki.requests >= 3, 'it was tried three times');
    sink.write(lineOf('second'));
    expect(sink.stats()).toMatchObject({ sent: 0, dropped: 0, waiting: 2, failure: `${status}: busy` });
    loki.accept();
    await received(2);
    await sink.close();
    expect(loki.texts).toEqual(['first', 'second']);
    expect(told.map(({ level, text }) => `${level}: ${text}`)).toEqual([
      `warn: Loki at ${loki.url} is not accepting log lines (${status}: busy): they wait, and the oldest are dropped when too many are waiting`,
      `log: Loki at ${loki.url} accepts log lines again`,
    ]);
  },
);

test('Retry-After is waited for', async () => {
  const { sink } = makeSink({ url: loki.url });
  loki.answer = (_, response) => {
    loki.accept();
    response.writeHead(429, { 'retry-after': '1' }).end();
  };
  const start = performance.now();
  sink.write(lineOf('patient'));
  await received(1);
  expect(performance.now() - start).toBeGreaterThan(950);
  expect(loki.requests).toBe(2);
  await sink.close();
});

test('lines that make Loki fail ten times are given up, the next ones are not', async () => {
  const { sink } = makeSink({ url: loki.url, batchLines: 1 });
  loki.refuse(500);
  sink.write(lineOf('poison'));
  await until(async () => sink.stats().dropped === 1, 'the line is dropped');
  expect(loki.requests).toBe(10);
  loki.accept();
  sink.write(lineOf('good'));
  await received(1);
  await sink.close();
  expect(loki.texts).toEqual(['good']);
});

test.each([
  [400, 'entry too old', '400: entry too old'],
  [401, '', '401 (are the credentials right?)'],
  [404, 'not found', '404: not found (does the URL end in /loki/api/v1/push?)'],
  [302, '', '302 (redirects are not followed)'],
])('after %i the lines are dropped, which is said once', async (status, answer, reason) => {
  const { sink, told } = makeSink({ url: loki.url, batchLines: 1 });
  loki.refuse(status, answer, { location: loki.url });
  for (let n = 0; n < 5; n += 1) sink.write(lineOf(`line ${n}`));
  await until(async () => sink.stats().dropped === 5, 'all are dropped');
  expect(loki.requests).toBe(5);
  expect(told.map(({ text }) => text)).toEqual([
    `Loki at ${loki.url} refuses log lines (${reason}): they are dropped`,
  ]);
  loki.accept();
  sink.write(lineOf('later'));
  await received(1);
  await sink.close();
  expect(told.at(-1)).toMatchObject({
    text: `5 log lines did not reach Loki: ${reason}`,
  });
});

test('while nobody listens the newest lines are kept, bounded, and counted; they arrive when somebody does', async () => {
  const { port, url } = loki;
  await loki.stop();
  const { sink, told } = makeSink({ url, batchLines: 10, bufferLines: 50 });
  for (let n = 0; n < 1_000; n += 1) sink.write(lineOf(`line ${n}`));
  await until(async () => sink.stats().failure, 'it has failed');
  expect(sink.stats()).toMatchObject({ sent: 0, failure: 'ECONNREFUSED' });
  expect(sink.stats().waiting).toBeLessThanOrEqual(60);
  expect(sink.stats().dropped).toBe(1_000 - sink.stats().waiting);
  loki = await StandInLoki.start(port);
  const { waiting, dropped } = sink.stats();
  await received(waiting);
  await sink.close();
  expect(loki.texts.at(-1)).toBe('line 999');
  expect(sink.stats()).toMatchObject({ sent: waiting, dropped });
  expect(told.at(-1)).toMatchObject({ level: 'warn', fields: { lines: dropped, dropped } });
});

test('the bytes that wait are bounded as well', async () => {
  loki.answer = () => undefined;
  const { sink } = makeSink({ url: loki.url, bufferBytes: 4_096, batchBytes: 1_024, flushMs: 0 });
  for (let n = 0; n < 200; n += 1) sink.write(lineOf('x'.repeat(300)));
  expect(sink.stats().waitingBytes).toBeLessThanOrEqual(4_096 + 1_024);
  expect(sink.stats().waitingBytes).toBeGreaterThan(3_500);
  await sink.close();
  expect(sink.stats()).toMatchObject({ sent: 0, dropped: 200, waiting: 0 });
});

test('drops are reported once in a period, with their number', async () => {
  const periods = holdTimers((ms) => ms === longMs);
  const { sink, told } = makeSink({ url: loki.url, batchLines: 1 }, { reportMs: longMs });
  loki.refuse(400);
  for (let n = 0; n < 20; n += 1) sink.write(lineOf(`line ${n}`));
  const reports = () => told.filter(({ fields }) => 'lines' in fields).map(({ fields }) => fields['lines']);
  await until(async () => sink.stats().dropped === 20, 'all are dropped');
  expect([periods.waiting, reports()]).toEqual([1, []]);
  periods.ringFirst();
  expect(reports()).toEqual([20]);
  sink.write(lineOf('one more'));
  await until(async () => periods.waiting === 1, 'the next period has begun');
  await sink.close();
  expect(reports()).toEqual([20, 1]);
});

test('a Loki that does not answer is given up after the timeout, and asked again', async () => {
  const timeouts = holdTimers((ms) => ms === longMs);
  const { sink, told } = makeSink({ url: loki.url, timeoutMs: longMs });
  let ignored = 0;
  loki.answer = () => {
    ignored += 1;
    loki.accept();
  };
  sink.write(lineOf('patient'));
  await until(async () => ignored === 1, 'it was asked');
  timeouts.ringFirst();
  await received(1);
  await sink.close();
  expect(told[0]?.text).toContain(`(no answer within ${longMs} ms)`);
  expect(loki.texts).toEqual(['patient']);
  expect(timeouts.asked).toEqual([longMs, longMs]);
});

test('an answer without end is not read', async () => {
  const { sink } = makeSink({ url: loki.url, timeoutMs: 5_000 });
  let written = 0;
  let closed = 0;
  loki.answer = (_, response) => {
    response.writeHead(400);
    const more = (): void => {
      written += 65_536;
      if (response.destroyed) return;
      if (response.write('x'.repeat(65_536))) setImmediate(more);
      else response.once('drain', more);
    };
    response.once('close', () => (closed += 1));
    more();
  };
  sink.write(lineOf('refused'));
  await until(async () => closed === 1 && sink.stats().dropped === 1, 'the connection is closed');
  expect(sink.stats().failure).toMatch(/^400: x{200}…$/);
  expect(written).toBeLessThan(50_000_000);
  await sink.close();
});

test('an answer that trickles is ended by the timeout', async () => {
  const timeouts = holdTimers((ms) => ms === longMs);
  const { sink, told } = makeSink({ url: loki.url, timeoutMs: longMs });
  let begun = false;
  loki.answer = (_, response) => {
    loki.accept();
    response.writeHead(400).write('x', () => (begun = true));
  };
  sink.write(lineOf('patient'));
  await until(async () => begun, 'the answer has begun');
  timeouts.ringFirst();
  await received(1);
  await sink.close();
  expect(told[0]?.text).toContain(`(no answer within ${longMs} ms)`);
});

test('what speaks no HTTP is no reason to fail', async () => {
  const server = createServer((socket) => socket.on('error', () => undefined).end('SSH-2.0-OpenSSH\r\n'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const { sink } = makeSink({ url: `http://127.0.0.1:${port}/loki/api/v1/push` });
  sink.write(lineOf('hello'));
  await until(async () => sink.stats().failure, 'it has failed');
  await sink.close();
  expect(sink.stats()).toMatchObject({ sent: 0, dropped: 1 });
  server.close();
});

test('close sends what waits, whatever the interval', async () => {
  const { sink } = makeSink({ url: loki.url, intervalMs: 3_600_000, batchLines: 10 });
  for (let n = 0; n < 35; n += 1) sink.write(lineOf(`line ${n}`));
  await sink.close();
  expect(loki.texts.toSorted(byNumber)).toEqual(Array.from({ length: 35 }, (_, n) => `line ${n}`));
  sink.write(lineOf('too late'));
  await sink.close();
  expect(sink.stats()).toMatchObject({ sent: 35, dropped: 1 });
});

test('close is bounded when Loki does not answer, and says what was lost', async () => {
  const { sink, told } = makeSink({ url: loki.url, flushMs: 100, timeoutMs: 60_000 });
  loki.answer = () => undefined;
  sink.write(lineOf('lost'));
  await until(async () => loki.requests === 1, 'it was asked');
  sink.write(lineOf('lost too'));
  await sink.close();
  expect(sink.stats()).toMatchObject({ sent: 0, dropped: 2, waiting: 0 });
  expect(told.at(-1)?.text).toBe('2 log lines did not reach Loki: there was no time left');
});

test('close does not wait for the next try: it tries once, at once', async () => {
  const { sink } = makeSink({ url: loki.url }, { firstRetryMs: 3_600_000, longestRetryMs: 3_600_000 });
  loki.refuse(503);
  sink.write(lineOf('kept'));
  await until(async () => sink.stats().failure, 'it has failed');
  loki.accept();
  await sink.close();
  expect(loki.texts).toEqual(['kept']);
  expect(loki.requests).toBe(2);
});

test('secrets that an answer repeats are masked', async () => {
  const secrets = ['p@ssw0rd', 'tok3n', 'h3ader'];
  const { sink, told } = makeSink({
    url: `${loki.url.replace('http://', 'http://ana:p%40ssw0rd@')}?key=tok3n`,
    headers: { 'x-secret': 'h3ader' },
  });
  loki.answer = ({ url, headers }, response) =>
    void response
      .writeHead(400)
      .end(`${url} ${String(headers['x-secret'])} ${String(headers.authorization)} p@ssw0rd`);
  sink.write(lineOf('hello'));
  await until(async () => told.length > 0, 'it says so');
  await sink.close();
  const all = JSON.stringify([told, sink.stats()]);
  expect(all).toContain('?key=*** *** Basic *** ***');
  for (const secret of [...secrets, 'p%40', Buffer.from('ana:p@ssw0rd').toString('base64')]) {
    expect(all).not.toContain(secret);
  }
});

function byNumber(a: string, b: string): number {
  return Number(a.split(' ')[1]) - Number(b.split(' ')[1]);
}
