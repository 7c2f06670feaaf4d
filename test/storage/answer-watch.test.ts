import { expect, test } from 'vitest';
import { watchAnswer } from '../../lib/storage/pooling.js';
import { holdTimers } from '../support/held-timers.js';
import { until } from '../support/waiting.js';

/** Watches an answer that does not come, and asks the server so often; what its connection is cut for. */
async function cutAfter(answers: readonly (boolean | undefined | 'nobody')[]): Promise<string | undefined> {
  const timers = holdTimers((ms) => ms === 30_000 || ms === 5_000);
  let reason: string | undefined;
  let asked = 0;
  void watchAnswer(new Promise(() => undefined), {
    isAtWork: async () => {
      const answer = answers[asked];
      asked += 1;
      if (answer === 'nobody') throw new Error('connection refused');
      return answer;
    },
    cut: ({ message }) => (reason = message),
  });
  while (asked < answers.length) {
    await until(async () => timers.waiting === 1, 'it is waited for');
    timers.ringFirst();
    timers.ringFirst();
  }
  await until(async () => timers.waiting === 1 || reason !== undefined, 'it is waited for, or cut');
  timers.release();
  return reason;
}

test.each(['nobody', false] as const)(
  'a connection is cut at the first look when the server is not at work on it, or cannot be asked: %s',
  async (answer) => {
    expect(await cutAfter([answer])).toBe('Connection terminated: no answer in 35 s');
    expect(await cutAfter([true, answer])).toBe('Connection terminated: no answer in 35 s');
  },
);

test('a statement that the server is at work on is waited for', async () => {
  expect(await cutAfter(Array.from({ length: 30 }, () => true))).toBeUndefined();
});

test('a statement of which the server cannot tell is waited for, but for some minutes only', async () => {
  expect(await cutAfter(Array.from({ length: 8 }, () => undefined))).toBeUndefined();
  expect(await cutAfter(Array.from({ length: 9 }, () => undefined))).toBe(
    'Connection terminated: no answer in 315 s',
  );
});
