import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { retryAfterMs } from '../../lib/values/retry-after.js';
import { standardAttempts, standardDelayMs } from '../../lib/webhooks/standard-schedule.js';
import { webhookId } from '../../lib/webhooks/webhook-id.js';

const now = Date.UTC(1994, 10, 6, 8, 49, 37);
const baseMs = 5_000;
const day = 86_400_000;

test.each([
  ['120', 120_000],
  [' 120 ', 120_000],
  ['0', baseMs],
  ['4', baseMs],
  ['5.5', 5_500],
  ['999999999999999999999999999999', day],
  ['9'.repeat(400), day],
  ['Sun, 06 Nov 1994 08:50:37 GMT', 60_000],
  ['Sunday, 06-Nov-94 08:50:37 GMT', 60_000],
  ['Sun Nov  6 08:50:37 1994', 60_000],
  ['Sun, 06 Nov 1994 08:49:37 GMT', baseMs],
  ['Wed, 01 Jan 1992 00:00:00 GMT', baseMs],
  ['Fri, 31 Dec 9999 23:59:59 GMT', day],
  ['-5', undefined],
  ['+5', undefined],
  ['1e3', undefined],
  ['0x10', undefined],
  ['5 minutes', undefined],
  ['Infinity', undefined],
  ['NaN', undefined],
  ['.5', undefined],
  ['2030-01-01', undefined],
  ['Sun, 99 Nov 1994 08:50:37 GMT', undefined],
  ['Sunday', undefined],
  ['', undefined],
  [undefined, undefined],
])('Retry-After: %s', (header, expected) => {
  expect(retryAfterMs(header, { baseMs, now })).toBe(expected);
});

test('a base beyond the longest wait is kept', () => {
  expect(retryAfterMs('60', { baseMs: 2 * day, now })).toBe(2 * day);
  expect(retryAfterMs('9999999', { baseMs: 2 * day, now })).toBe(2 * day);
});

test('whatever the header says, the wait is between the base and a day', () => {
  const within = fc.property(fc.string(), fc.integer({ min: 0, max: day }), (header, base) => {
    const ms = retryAfterMs(header, { baseMs: base, now });
    return ms === undefined || (ms >= base && ms <= day);
  });
  expect(fc.check(within)).toMatchObject({ failed: false });
});

test('the standard schedule: ten attempts over 75 hours and 35 minutes', () => {
  const delays = Array.from({ length: standardAttempts }, (_, index) =>
    standardDelayMs(index + 1, () => 0.5),
  );
  expect(delays.map((ms) => ms && ms / 1_000)).toEqual([
    5,
    300,
    1_800,
    7_200,
    18_000,
    36_000,
    50_400,
    72_000,
    86_400,
    undefined,
  ]);
  expect(standardAttempts).toBe(10);
  const sum = delays.reduce<number>((total, ms) => total + (ms ?? 0), 0);
  expect(sum).toBe((75 * 60 + 35) * 60_000 + 5_000);
});

test('its delays vary by a fifth either way', () => {
  expect(standardDelayMs(1, () => 0)).toBe(4_000);
  expect(standardDelayMs(1, () => 1)).toBe(6_000);
  const drawn = Array.from({ length: 100 }, () => standardDelayMs(1) ?? 0);
  expect(drawn.every((ms) => ms >= 4_000 && ms <= 6_000)).toBe(true);
  expect(new Set(drawn).size).toBeGreaterThan(10);
  for (const attempt of [0, -1, 11, 1.5, Number.NaN]) expect(standardDelayMs(attempt)).toBeUndefined();
});

test('an id is the same for the same parts, and other for others', () => {
  expect(webhookId('key')).toBe(webhookId('key'));
  expect(webhookId('key')).toMatch(/^msg_[0-9a-f]{32}$/);
  expect(webhookId('key')).not.toContain('key');
  expect(
    new Set(
      [['a'], ['b'], ['a', 'b'], ['ab'], ['a', '', 'b'], ['a","b']].map((parts) =>
        webhookId(...(parts as [string])),
      ),
    ).size,
  ).toBe(6);
});
