import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { QueueEvents, type QueueEventMap } from '../../lib/index.js';
import { Capacity } from '../../lib/worker/claiming/routes.js';
import { LoopMonitor } from '../../lib/worker/loop-monitor.js';
import { HandlerContext, type RunDeps } from '../../lib/worker/running/handler-context.js';
import { RunningTasks } from '../../lib/worker/running/running-tasks.js';
import { claimedOf } from './dispatcher-bench.js';

let now = 0;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

function watch(pauseWhileBlocked = false) {
  const events = new QueueEvents();
  const told: QueueEventMap['loop.blocked'][] = [];
  events.on('loop.blocked', (event) => told.push(event));
  const running = new RunningTasks();
  const wake = vi.fn<() => void>();
  const options = { concurrency: 3, maxLoopDelayMs: 200, pauseWhileBlocked };
  const capacity = new Capacity({ of: () => ({ limit: undefined }) as never }, options);
  const monitor = new LoopMonitor('7', { running, wake }, capacity, options, events);
  monitor.start();
  const begin = (topic: string) => {
    const task = running.begin(claimedOf(`t:${topic}`));
    task.context = new HandlerContext(task.claimed, undefined, {} as RunDeps);
    return task;
  };
  /** The timer's next turn, so late. */
  const tick = (lateMs: number): void => {
    now += 50 + lateMs;
    vi.advanceTimersByTime(50);
  };
  return { told, running, capacity, monitor, wake, begin, tick };
}

test('handlers are named that ran while the event loop stood still, also those that have ended', () => {
  const { told, running, begin, tick } = watch();
  running.end(begin('earlier'));
  tick(0);
  const last = begin('computes');
  begin('waits');
  // A publication, or a handler of a child: it keeps nothing waiting here.
  running.begin(claimedOf('t:elsewhere'));
  running.end(last);
  tick(512.4);
  expect(told).toMatchObject([
    { workerId: '7', blockedMs: 512, tasks: [{ topic: 'computes' }, { topic: 'waits' }] },
  ]);
});

test('what is no later than it may be is not worth a word, nor what no handler has to do with', () => {
  const { told, begin, tick } = watch();
  tick(5_000);
  begin('quick');
  tick(200);
  expect(told).toEqual([]);
});

test('handlers that block again and again are named every ten seconds', () => {
  const { told, begin, tick } = watch();
  begin('computes');
  for (let second = 0; second < 25; second += 1) tick(950);
  expect(told).toHaveLength(3);
});

test('nothing is claimed until the event loop is on time again, where that is asked for', () => {
  const { capacity, wake, tick } = watch(true);
  tick(300);
  expect([capacity.free(0), wake.mock.calls.length]).toEqual([0, 0]);
  tick(300);
  tick(0);
  expect([capacity.free(0), wake.mock.calls.length]).toEqual([3, 1]);
  tick(0);
  expect(wake).toHaveBeenCalledTimes(1);
});

test('one that stops is silent, and keeps no slot from being filled', () => {
  const { told, monitor, begin, tick } = watch(true);
  begin('computes');
  monitor.stop();
  tick(5_000);
  expect(told).toEqual([]);
});

test('of the last minute it is known how late the event loop was, and of all time how often claims have paused', () => {
  const { monitor, tick } = watch(true);
  expect(monitor.delay).toBeUndefined();
  tick(900);
  expect(monitor.delay).toEqual({ p99Ms: 900, maxMs: 900, pauses: 1 });
  tick(900);
  for (let look = 0; look < 1_187; look += 1) tick(1);
  for (let look = 0; look < 11; look += 1) tick(30);
  expect(monitor.delay).toEqual({ p99Ms: 30, maxMs: 900, pauses: 1 });
  tick(0);
  tick(0);
  tick(700);
  expect(monitor.delay).toEqual({ p99Ms: 1, maxMs: 700, pauses: 2 });
});
