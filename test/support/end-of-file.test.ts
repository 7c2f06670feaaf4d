import { expect, test, vi } from 'vitest';

const clock = { now: (): string => 'real' };

test.each(['one test', 'the next one'])('what %s spies on is as ever when it begins', () => {
  expect(clock.now()).toBe('real');
  vi.spyOn(clock, 'now').mockReturnValue('spied on');
  expect(clock.now()).toBe('spied on');
});
