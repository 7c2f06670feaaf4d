import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Backoff } from '../../lib/timing/backoff.js';
import { RetryAt, UnrecoverableError } from '../../lib/index.js';
import { nextAttempt } from '../../lib/worker/running/next-attempt.js';

test('waits grow from the first to the most, with jitter of at most a half, and start small after a success', () => {
  const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1_000 }),
      fc.integer({ min: 1, max: 100_000 }),
      fc.array(fraction, { minLength: 1, maxLength: 80 }),
      (firstMs, moreMs, randoms) => {
        const mostMs = firstMs + moreMs;
        let random = 0;
        const backoff = new Backoff({ firstMs, mostMs, random: () => random });
        const waits = randoms.map((one) => {
          random = one;
          return backoff.next();
        });
        for (const [failures, wait] of waits.entries()) {
          const full = Math.min(mostMs, firstMs * 2 ** failures);
          expect(wait).toBeGreaterThanOrEqual(full / 2);
          expect(wait).toBeLessThanOrEqual(full);
        }
        backoff.reset();
        expect(backoff.next()).toBeLessThanOrEqual(firstMs);
      },
    ),
  );
});

const rule = fc.oneof(
  fc.constant(undefined),
  fc
    .func(fc.oneof(fc.double(), fc.constant(undefined), fc.string()))
    .map((one) => one as (attempt: number) => number),
  fc.constant((): number => {
    throw new Error('no');
  }),
);
const error = fc.oneof(
  fc.anything(),
  fc.date({ noInvalidDate: false }).map((date) => new RetryAt(date)),
  fc.anything().map((date) => Object.assign(new Error('x'), { name: 'RetryAt', date })),
  fc.constant(new UnrecoverableError('x')),
);

test('the next attempt is always at a time that PostgreSQL can hold, or never', () => {
  fc.assert(
    fc.property(
      error,
      rule,
      fc.oneof(fc.integer({ min: 1, max: 1_000_000 }), fc.integer({ min: -2_147_483_648, max: 0 })),
      (thrown, retryDelay, attempt) => {
        const rules = {
          concurrency: undefined,
          timeoutMs: undefined,
          maxAttempts: undefined,
          retryDelay,
          payload: 'json',
        };
        const next = nextAttempt(thrown, attempt, rules as Parameters<typeof nextAttempt>[2], {
          retryIntervalMinutes: 525_600,
        });
        const fits = {
          at: () => 'date' in next && /^\d{4}-/.test(next.date.toISOString()),
          never: () => true,
          'after-due': () => 'delayMs' in next && isDelay(next.delayMs),
          'after-failure': () => 'delayMs' in next && isDelay(next.delayMs),
        };
        expect(fits[next.kind]()).toBe(true);
      },
    ),
  );
});

function isDelay(ms: number): boolean {
  return ms >= 0 && ms <= 1_000 * 365 * 86_400_000;
}
