import { afterEach, expect, test, vi } from 'vitest';
import { TaskWaiter } from '../../lib/admin/task-waiter.js';
import type { EndListener } from '../../lib/coordination/end-listener.js';

afterEach(() => {
  vi.useRealTimers();
});

/** A waiter whose listener is played by the test. */
function waiterOf(): {
  waiter: TaskWaiter;
  announced: string[];
  end: () => void;
  listeners: Set<() => void>;
} {
  const announced: string[] = [];
  const listeners = new Set<() => void>();
  const listener = {
    announce: async (id: string, forMs: number) => void announced.push(`${id} ${forMs}`),
    listen: (_: string, ended: () => void) => {
      listeners.add(ended);
      return () => listeners.delete(ended);
    },
  };
  const waiter = new TaskWaiter(async () => listener as unknown as EndListener);
  return { waiter, announced, listeners, end: () => listeners.forEach((ended) => ended()) };
}

test('who waits is woken by the end, also looks now and then, and says each time that it waits', async () => {
  vi.useFakeTimers();
  const { waiter, announced, listeners, end } = waiterOf();
  let result: string | undefined;
  const look = vi.fn<() => Promise<string | undefined>>(async () => result);
  const waited = waiter.wait('7', 60_000, look);
  await vi.advanceTimersByTimeAsync(6_000);
  // At once, after 100 ms, a second, and five more would be the next one.
  expect(look).toHaveBeenCalledTimes(3);
  expect(announced).toHaveLength(3);
  expect(announced[0]).toBe('7 60000');
  result = 'ended';
  end();
  expect(await waited).toBe('ended');
  expect(look).toHaveBeenCalledTimes(4);
  expect(listeners.size).toBe(0);
});

test('an end that is told while it is looked for is not missed', async () => {
  vi.useFakeTimers();
  const { waiter, end } = waiterOf();
  let looks = 0;
  const waited = waiter.wait('7', 60_000, async () => {
    looks += 1;
    // The statement began before the end was committed.
    if (looks === 1) end();
    return looks === 1 ? undefined : 'ended';
  });
  await vi.advanceTimersByTimeAsync(1);
  expect(await waited).toBe('ended');
});

test('without a listener it looks every 250 ms, and a listener that could not be opened is opened again', async () => {
  vi.useFakeTimers();
  const open = vi
    .fn<() => Promise<EndListener | undefined>>()
    .mockRejectedValueOnce(new Error('no connection'))
    .mockResolvedValue(undefined);
  const waiter = new TaskWaiter(open);
  const look = vi.fn<() => Promise<undefined>>(async () => undefined);
  await expect(waiter.wait('7', 1_000, look)).rejects.toThrow('no connection');
  const waited = waiter.wait('7', 1_000, look).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await waited).toMatchObject({
    code: 'WAIT_TIMEOUT',
    message: 'task 7 did not finish within 1000 ms and is still waiting or running',
  });
  expect(look).toHaveBeenCalledTimes(5);
});
