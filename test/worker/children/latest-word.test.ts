import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LatestWord } from '../../../lib/worker/children/latest-word.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});

afterEach(() => {
  vi.useRealTimers();
});

test('the first word goes at once, and of all until the pause is over the last one', () => {
  const passed: string[] = [];
  const words = new LatestWord((word) => passed.push(word));
  for (let word = 1; word <= 1_000; word += 1) words.say(String(word));
  expect(passed).toEqual(['1']);
  vi.advanceTimersByTime(100);
  expect(passed).toEqual(['1', '1000']);
  vi.advanceTimersByTime(1_000);
  expect(passed).toEqual(['1', '1000']);
  words.say('later');
  expect(passed).toEqual(['1', '1000', 'later']);
});

test('a handler that lets no timer run is heard anyway', () => {
  const passed: string[] = [];
  const words = new LatestWord((word) => passed.push(word));
  words.say('first');
  words.say('second');
  const now = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 150);
  words.say('third');
  now.mockRestore();
  expect(passed).toEqual(['first', 'third']);
  // Its timer, late, has nothing left to pass on.
  vi.advanceTimersByTime(200);
  expect(passed).toEqual(['first', 'third']);
});
