import { expect, test, vi } from 'vitest';
import { errorProperties } from '../../lib/redaction/error-properties.js';
import { Redaction } from '../../lib/redaction/redaction.js';
import { failureDetail } from '../../lib/values/failure-text.js';

const all = errorProperties(true, new Redaction([]));

test('values are told as plain JSON, and what has no text is left out', () => {
  const error = Object.assign(new Error('x'), {
    at: new Date(0),
    never: new Date(Number.NaN),
    big: 5n,
    bytes: Buffer.from('s3cret'),
    url: new URL('https://ana:s3cret@host/x'),
    inner: Object.assign(new TypeError('deep'), { code: 7 }),
    list: [1, undefined, () => 1],
    then: () => 1,
    mark: Symbol('x'),
    nothing: null,
  });
  expect(all(error)).toEqual({
    at: '1970-01-01T00:00:00.000Z',
    never: 'Invalid Date',
    big: '5',
    bytes: '<6 bytes>',
    url: 'https://[redacted]@host/x',
    inner: { name: 'TypeError', message: 'deep', code: 7 },
    list: [1, null, null],
    nothing: null,
  });
});

test('nothing of the error runs: its getters, and how it writes itself', () => {
  const run = vi.fn<() => string>(() => 'x');
  const error = Object.assign(new Error('x'), { answer: { toJSON: run, status: 402 } });
  Object.defineProperty(error, 'body', { enumerable: true, get: run });
  expect(all(error)).toEqual({ answer: { status: 402 } });
  expect(run).not.toHaveBeenCalled();
});

test('what has no end is cut: values, levels, texts, cycles', () => {
  const error: Error & { self?: unknown } = Object.assign(new Error('x'), {
    text: 's3cret'.repeat(10_000),
    list: Array.from({ length: 100_000 }, (_, index) => ({ index })),
  });
  error.self = error;
  const told = JSON.stringify(all(error));
  expect(told).toContain('"text":"<60000 characters>"');
  expect(told.length).toBeLessThan(10_000);
  expect(failureDetail(error, all).length).toBeLessThanOrEqual(8_000);
});

test('a cause that is the error itself is told once', () => {
  const error = new Error('round');
  error.cause = error;
  expect(failureDetail(error)).toMatch(/^Error: round\n.*\{\n {2}\[cause\]: \[circular\]\n\}$/s);
});

test('a message that was changed later is told, and what else stands in a stack is not', () => {
  const error = new Error('before s3cret');
  error.message = 'after';
  expect(failureDetail(error)).toMatch(/^Error: after\n {4}at /);
  expect(failureDetail(error)).not.toContain('s3cret');
});
