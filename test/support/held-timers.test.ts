import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { holdTimers } from './held-timers.js';

test('timers ring in the order of their times, by a clock of their own', () => {
  const timers = holdTimers((ms) => ms >= 1_000);
  const rung: string[] = [];
  setTimeout((name: string) => rung.push(name), 3_000, 'third');
  setTimeout(() => {
    rung.push('first');
    setTimeout(() => rung.push('second'), 1_000);
  }, 1_000);
  const cleared = setTimeout(() => rung.push('never'), 1_500);
  expect([timers.waiting, timers.firstInMs]).toEqual([3, 1_000]);
  timers.ringFirst();
  clearTimeout(cleared);
  expect([rung, timers.nowMs, timers.firstInMs]).toEqual([['first'], 1_000, 1_000]);
  timers.ringFirst();
  timers.ringFirst();
  expect([rung, timers.nowMs, timers.firstInMs]).toEqual([['first', 'second', 'third'], 3_000, undefined]);
  expect(timers.asked).toEqual([3_000, 1_000, 1_500, 1_000]);
  expect(() => timers.ringFirst()).toThrow('none of these timers is set');
});

test('other timers take their time, and all do when it is released', async () => {
  const real = globalThis.setTimeout;
  const timers = holdTimers((ms) => ms === 54_321);
  let isRung = false;
  setTimeout(() => (isRung = true), 54_321);
  await promisify(setTimeout)(5);
  expect([isRung, timers.waiting]).toEqual([false, 1]);
  timers.release();
  expect([globalThis.setTimeout === real, timers.waiting]).toEqual([true, 0]);
});
