import { CronTime } from 'cron';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextMatch, parseCron } from '../../lib/timing/cron.js';

const field = (least: number, most: number): fc.Arbitrary<string> => {
  const number = fc.integer({ min: least, max: most });
  const range = fc.tuple(number, number).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`);
  const part = fc
    .tuple(fc.oneof(number.map(String), range, fc.constant('*')), fc.option(fc.integer({ min: 1, max: 12 })))
    .map(([what, step]) => (step === null ? what : `${what}/${step}`));
  return fc.oneof(
    fc.constant('*'),
    fc.array(part, { minLength: 1, maxLength: 3 }).map((all) => all.join(',')),
  );
};

const expression = fc
  .tuple(field(0, 59), field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 7))
  .map((all) => all.join(' '));

test('expressions mean what they mean to @Cron of @nestjs/schedule', () => {
  // The package looks at most eight years ahead of now.
  const from = Date.now();
  const instant = fc.integer({ min: from, max: from + 2 * 365 * 86_400_000 });
  fc.assert(
    fc.property(expression, instant, (text, at) => {
      const second = Math.floor(at / 1_000) * 1_000;
      const expected = new CronTime(text, 'UTC').getNextDateFrom(new Date(second), 'UTC').toMillis();
      expect(nextMatch(parseCron(text), second)).toBe(expected);
    }),
    { numRuns: 500 },
  );
});

test.each([
  ['0 3 * * *', '2026-06-01T03:00:00.000Z'],
  ['30 0 3 * * *', '2026-06-01T03:00:30.000Z'],
  ['*/15 * * * *', '2026-06-01T00:15:00.000Z'],
  ['0 9 * * mon-fri', '2026-06-01T09:00:00.000Z'],
  ['0 0 1 JAN *', '2027-01-01T00:00:00.000Z'],
  ['0 0 29 2 *', '2028-02-29T00:00:00.000Z'],
  ['0 0 13 * fri', '2026-06-05T00:00:00.000Z'],
  ['0 0 * * 7', '2026-06-07T00:00:00.000Z'],
  ['@weekdays', '2026-06-02T00:00:00.000Z'],
])('%s comes next at %s', (text, expected) => {
  const next = nextMatch(parseCron(text), Date.parse('2026-06-01T00:00:00Z'));
  expect(new Date(next ?? 0).toISOString()).toBe(expected);
});

test('a day that no month has never comes', () => {
  expect(nextMatch(parseCron('0 0 30 2 *'), 0)).toBeUndefined();
});

test.each([
  ['', 'needs five fields'],
  ['* * * *', 'has 4'],
  ['* * * * * * *', 'has 7'],
  ['60 * * * *', '"60" as its minute, which goes from 0 to 59'],
  ['0 24 * * *', '"24" as its hour'],
  ['0 0 0 * *', '"0" as its day, which goes from 1 to 31'],
  ['9-5 * * * *', '"9-5" as its minute'],
  ['*/0 * * * *', '"*/0" as its minute'],
  ['0 0 * mon *', '"mon" as its month'],
  ['@never * * * *', '"@never" as its minute'],
  ['0 0 L * *', '"l" as its day'],
])('%j is refused: %s', (text, problem) => {
  expect(() => parseCron(text)).toThrow(problem);
});
