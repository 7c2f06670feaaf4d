import { expect, test } from 'vitest';
import { cleanText } from '../../lib/observability/clean-text.js';
import { errorStack, errorText } from '../../lib/observability/error-text.js';
import { LineBuffer, type BufferedLine } from '../../lib/observability/loki/line-buffer.js';
import { Nanoseconds } from '../../lib/observability/loki/nanoseconds.js';
import { lineOf } from './loki/line-of.js';

test.each([
  ['two\nlines\r\n', 'two\\nlines\\r\\n'],
  ['\u001b[31mred\u001b[0m', '\\x1b[31mred\\x1b[0m'],
  ['nul\0 bell\u0007 c1\u009b', 'nul\\x00 bell\\x07 c1\\x9b'],
  ['line\u2028separator, \u202eturned', 'line\\u2028separator, \\u202eturned'],
  ['é € 😀 \\n', 'é € 😀 \\n'],
  ['lone \ud800 half', 'lone \ufffd half'],
])('%j becomes %j', (text, cleaned) => {
  expect(cleanText(text, 100)).toBe(cleaned);
});

test('a text is cut before anything else is done with it', () => {
  expect(cleanText('\n'.repeat(1_000_000), 3)).toBe('\\n\\n\\n…');
  expect(cleanText('ab😀', 3)).toBe('ab\ufffd…');
});

test('an error says its message in one line, and of its stack only frames are kept', () => {
  const message = `bad\n    at forged (line:1:1)\nERROR [Tarefa] forged\u001b[2J ${'x'.repeat(1_000_000)}`;
  const error = new Error(message);
  expect(errorText(error)).toMatch(
    /^bad\\n {4}at forged \(line:1:1\)\\nERROR \[Tarefa\] forged\\x1b\[2J x+$/,
  );
  expect(errorText(error).length).toBeLessThan(600);
  const lines = errorStack(error)?.split('\n') ?? [];
  expect(lines.length).toBeGreaterThan(1);
  expect(lines.filter((line) => !/^ {4}at \S/.test(line))).toEqual([]);
  expect(lines[0]).toContain('texts.test.ts');
});

test('causes are named, properties of errors are not: drivers keep rows and parameters there', () => {
  const cause = Object.assign(new Error('duplicate key'), { detail: 'Key (email)=(ana@example.org)' });
  const error = Object.assign(new Error('the insert failed', { cause }), { parameters: ['ana@example.org'] });
  expect(errorStack(error)).toMatch(/^caused by Error: duplicate key$/m);
  expect(`${errorText(error)} ${errorStack(error)}`).not.toContain('ana@');
});

test.each([
  ['an object', { card: '4111' }],
  ['a function', () => '4111'],
  ['a map', new Map([['card', '4111']])],
])('%s that is thrown is not shown: it could be the payload', (_, thrown) => {
  expect(errorText(thrown)).toBe('a non-Error value was thrown');
  expect(errorStack(thrown)).toBeUndefined();
});

test('an error that throws when it is looked at does no harm', () => {
  const hostile = new Error('x');
  for (const name of ['stack', 'cause', 'name', 'message']) {
    Object.defineProperty(hostile, name, {
      get: () => {
        throw new Error('no');
      },
    });
  }
  expect(errorText(hostile)).toBe('the handler threw something that cannot be described');
  expect(errorStack(hostile)).toBeUndefined();
  const endless = new Error('a');
  endless.cause = endless;
  expect(errorStack(endless)?.match(/caused by/g)).toHaveLength(3);
});

test('times are later one by one, also when the clock stands or is set back', () => {
  let now = 1_700_000_000_000;
  const times = new Nanoseconds();
  const next = () => BigInt(times.next(now));
  expect(next()).toBe(1_700_000_000_000_000_000n);
  expect(next()).toBe(1_700_000_000_000_000_001n);
  now -= 5_000;
  expect(next()).toBe(1_700_000_000_000_000_002n);
  now += 6_000.7;
  expect(next()).toBe(1_700_000_001_000_000_000n);
  let last = next();
  for (let n = 0; n < 1_000_005; n += 1) {
    const time = next();
    if (time <= last) throw new Error(`${time} is not later than ${last}`);
    last = time;
  }
  expect(last).toBeGreaterThan(1_700_000_001_001_000_000n);
});

test('a buffer keeps the newest lines and their order, whatever is put and taken', () => {
  const buffer = new LineBuffer({ lines: 3_000, bytes: 9_000 });
  const line = lineOf('');
  let expected: BufferedLine[] = [];
  let seed = 7;
  const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
  for (let n = 0; n < 12_000; n += 1) {
    const next = { line, ms: n, bytes: 1 + random(n % 7_000 < 3_500 ? 3 : 40) };
    let dropped = 0;
    while (expected.length >= 3_000 || expected.reduce((sum, { bytes }) => sum + bytes, next.bytes) > 9_000) {
      expected.shift();
      dropped += 1;
    }
    expected.push(next);
    expect(buffer.push(next)).toBe(dropped);
    const taken = n % 997 === 0 ? buffer.take({ lines: 500, bytes: 700 }) : [];
    expect(taken).toEqual(expected.slice(0, taken.length));
    expected = expected.slice(taken.length);
    expect(buffer.length).toBe(expected.length);
  }
  expect(buffer.bytes).toBe(expected.reduce((sum, { bytes }) => sum + bytes, 0));
  expect(buffer.clear()).toBe(expected.length);
  expect(buffer.take({ lines: 1, bytes: 1 })).toEqual([]);
});

test('a line that is larger than a batch is taken alone', () => {
  const buffer = new LineBuffer({ lines: 10, bytes: 100 });
  const big = { line: lineOf(''), ms: 1, bytes: 1_000 };
  buffer.push({ ...big, bytes: 1 });
  expect(buffer.push(big)).toBe(1);
  expect(buffer.take({ lines: 5, bytes: 50 })).toEqual([big]);
});
