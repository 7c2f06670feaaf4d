import { expect, test } from 'vitest';
import type { NextAttempt } from '../../lib/storage/attempt.js';
import { mostLosses, verdict } from '../../lib/storage/failure-rule.js';

const now: NextAttempt = { kind: 'after-failure', delayMs: 0 };
const first = { attempt: 1, losses: 0, maxAttempts: 3, next: now, lost: false };

test.each([
  ['the first of three attempts is tried again', {}, true, 0],
  ['the last but one is', { attempt: 2 }, true, 0],
  ['the last one is buried', { attempt: 3 }, false, 0],
  ['one above the limit is buried', { attempt: 9 }, false, 0],
  ['one numbered below the first is tried again', { attempt: -1 }, true, 0],
  ['a failure that asks for no further attempt is buried at once', { next: { kind: 'never' } }, false, 0],
  ['a lost worker counts', { lost: true }, true, 1],
  ['several in a row add up', { lost: true, losses: 3 }, true, 4],
  ['the fifth buries the chain, whatever attempts are left', { lost: true, losses: 4 }, false, 0],
  ['a failure that is none ends the row', { losses: 4 }, true, 0],
] as const)('%s', (_, changes, isRetried, nextLosses) => {
  const { next, note, nextLosses: counted } = verdict({ ...first, ...changes });
  expect(next !== undefined).toBe(isRetried);
  expect(note).toBe(isRetried ? ' (will be tried again)' : ' (no attempts left)');
  expect(counted).toBe(nextLosses);
});

test('losses that somebody has set by hand stay within what the column takes', () => {
  expect(verdict({ ...first, lost: true, losses: -3 }).nextLosses).toBe(-2);
  expect(verdict({ ...first, lost: true, losses: 2_147_483_647 }).next).toBeUndefined();
  expect(mostLosses).toBe(5);
});
