import { expect, test } from 'vitest';
import { PollPace } from '../../lib/timing/poll-pace.js';

function paceAt(random = 0): { readonly pace: PollPace; readonly later: (ms: number) => void } {
  let now = 1_000;
  const pace = new PollPace({ busyMs: 100, idleMs: 1_000, random: () => random, now: () => now });
  return { pace, later: (ms) => void (now += ms) };
}

test('it looks often while something was found lately, then ever less', () => {
  const { pace, later } = paceAt();
  expect([pace.next(), pace.next()]).toEqual([100, 100]);
  later(30_000);
  expect([1, 2, 3, 4, 5, 6].map(() => pace.next())).toEqual([200, 400, 800, 1_000, 1_000, 1_000]);
  pace.found();
  expect(pace.next()).toBe(100);
});

test('processes that started together do not look together', () => {
  expect([paceAt(0).pace.next(), paceAt(1).pace.next()]).toEqual([100, 75]);
});

test('it never looks less often than was asked for', () => {
  const pace = new PollPace({ busyMs: 100, idleMs: 40, random: () => 0 });
  expect(pace.next()).toBe(40);
});
