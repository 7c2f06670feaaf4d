import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { closingReserves, ClosingTime } from '../../lib/timing/closing-time.js';
import { QueueWorker, type QueueWorkerParts } from '../../lib/worker/queue-worker.js';

beforeEach(() => vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }));
afterEach(() => vi.useRealTimers());

const never = (): Promise<void> => new Promise(() => undefined);

/** How long that takes by the clock of the test. */
async function lasting(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  const done = work();
  await vi.runAllTimersAsync();
  await done;
  return performance.now() - began;
}

test('steps that never end take five seconds together, besides what handlers are given', async () => {
  const closing = new ClosingTime(1_000);
  const all = async () => {
    await closing.drain(never());
    await closing.step(never, 2_000);
    await closing.step(never, 1_000);
    await closing.step(never, 0);
  };
  expect(await lasting(all)).toBe(6_000);
});

test('a step that takes its time has what the others do not need', async () => {
  const closing = new ClosingTime(1_000);
  const given: number[] = [];
  await closing.drain(Promise.resolve());
  await closing.step(async (leftMs) => given.push(leftMs), 1_000);
  await closing.step(async (leftMs) => given.push(leftMs), 0);
  expect(given).toEqual([4_000, 5_000]);
});

test('what the application does between two steps takes nothing from the next one', async () => {
  const closing = new ClosingTime(1_000);
  expect(await lasting(() => closing.step(never, 3_000))).toBe(2_000);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await lasting(() => closing.step(never, 0))).toBe(3_000);
});

test('a worker that has nothing to wait for takes no time from another one, whose handlers go on', async () => {
  const closing = new ClosingTime(30_000);
  let given = 0;
  const busy = async (): Promise<void> => {
    await closing.drain(new Promise((resolve) => setTimeout(resolve, 20_000)));
    await closing.step(async (leftMs) => (given = leftMs), 2_000);
  };
  const idle = async (): Promise<void> => {
    await closing.drain(Promise.resolve());
    await closing.step(() => Promise.resolve(), 0);
  };
  await lasting(() => Promise.all([busy(), idle()]));
  expect(given).toBe(3_000);
});

test('the time for handlers that were told to stop, and do not, is part of the five seconds', async () => {
  const closing = new ClosingTime(1_000);
  const worker = silentWorker(closing);
  await worker.start();
  const all = async () => {
    await worker.stop();
    for (const name of ['rest', 'sessions', 'connections'] as const)
      await closing.step(never, closingReserves[name]);
  };
  expect(await lasting(all)).toBe(6_000);
});

/** A worker whose handler ignores its signal, and whose database fell silent when it had started. */
function silentWorker(closing: ClosingTime): QueueWorker {
  const none = (): void => undefined;
  const part = { start: none, stop: none };
  const parts = {
    database: { workers: { register: async () => '1', retire: never } },
    listening: part,
    liveness: { hold: async () => true, release: never },
    registry: { announced: [], announcedDead: [] },
    schedules: () => [],
    recurring: part,
    registered: () => ({
      dispatcher: {
        ...part,
        running: { size: 1, idle: never, abort: none, abandon: none },
        stopClaiming: none,
        finish: never,
      },
      executor: part,
      halt: { end: none },
      standstill: part,
      loop: part,
    }),
    recovery: { start: none, stop: never, finish: never },
    unserved: part,
    events: { emit: none, on: none },
    options: { concurrency: 1 },
    version: '0',
    enabled: true,
    closing,
  };
  return new QueueWorker(parts as unknown as QueueWorkerParts);
}
