import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { histogramOf, percentile } from '../../lib/values/histogram.js';

test('a percentile is right to a fifth, from a millisecond to a day', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 2, max: 86_400_000 }), { minLength: 1, maxLength: 300 }),
      (durations) => {
        const sorted = durations.toSorted((a, b) => a - b);
        const histogram = histogramOf(durations, 1);
        for (const percent of [50, 95, 99]) {
          const exact = sorted[Math.ceil((percent / 100) * sorted.length) - 1] ?? 0;
          const found = percentile(histogram, percent) ?? 0;
          expect(found).toBeGreaterThanOrEqual(exact / Math.SQRT2 - 2);
          expect(found).toBeLessThanOrEqual(exact * Math.SQRT2 + 2);
        }
      },
    ),
  );
});

test('what is longer than all buckets, below 0 or not measured does no harm', () => {
  expect(percentile([], 50)).toBeNull();
  expect(percentile(histogramOf([-5], 1), 99)).toBe(1);
  expect(percentile(histogramOf([1e12], 1), 50)).toBeGreaterThan(86_400_000);
});
