import { setImmediate as turn } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { QueueEvents } from '../../lib/index.js';
import { nextEvent, until } from './waiting.js';

const warn = (events: QueueEvents, message: string): void => events.emit('warning', { message });

test('the next event that matches is answered', async () => {
  const events = new QueueEvents();
  const next = nextEvent(events, 'warning', ({ message }) => message === 'second');
  for (const message of ['first', 'second', 'third']) warn(events, message);
  expect(await next).toMatchObject({ message: 'second' });
});

test('an event that does not come in time fails by its name', async () => {
  const next = nextEvent(new QueueEvents(), 'task.lost', undefined, 1);
  await expect(next).rejects.toThrow('not within 1 ms: the event task.lost');
});

test('one that nobody awaits harms nobody when it does not come', async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', note);
  const events = new QueueEvents();
  void nextEvent(events, 'task.lost', undefined, 1);
  await expect(nextEvent(events, 'task.lost', undefined, 5)).rejects.toThrow('task.lost');
  await turn();
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

test('waiting for an event keeps no process alive', async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  void nextEvent(new QueueEvents(), 'task.lost');
  expect(timers()).toBe(before);
});

test('a test may move the clock and the timers of the library: deadlines stay where they are', async () => {
  vi.useFakeTimers();
  try {
    const events = new QueueEvents();
    const next = nextEvent(events, 'warning');
    const asked: number[] = [];
    const answer = until(async () => {
      vi.advanceTimersByTime(3_600_000);
      return asked.push(performance.now()) > 2;
    }, 'three looks');
    expect(await answer).toBe(true);
    warn(events, 'late by the clock of the test');
    await next;
  } finally {
    vi.useRealTimers();
  }
});
