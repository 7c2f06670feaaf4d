import { expect, test, vi } from 'vitest';
import { QueueEvents } from '../../lib/index.js';
import { UnservedWatch } from '../../lib/maintenance/unserved-watch.js';
import type { QueueDatabase } from '../../lib/storage/database.js';
import { topicRoute } from '../../lib/storage/route.js';
import type { WaitingRoute } from '../../lib/storage/waiting-route.js';
import { holdTimers, type HeldTimers } from '../support/held-timers.js';
import { until } from '../support/waiting.js';

/** The clock stands still until a timer rings: then a second is one of the test's. */
function held(): HeldTimers {
  const timers = holdTimers((ms) => ms >= 10_000);
  vi.spyOn(performance, 'now').mockImplementation(() => timers.nowMs);
  return timers;
}

/** A watch of a queue in which tasks of these topics wait, each since a second of the timers. */
function watchOver(timers: HeldTimers, inserted: Readonly<Record<string, number>>, fails = 0) {
  const events = new QueueEvents();
  const told: (readonly [atSecond: number, topic: string | null])[] = [];
  events.on('tasks.unserved', ({ topic }) => told.push([timers.nowMs / 1_000, topic]));
  let looks = 0;
  const waitingRoutes = async (): Promise<readonly WaitingRoute[]> => {
    looks += 1;
    if (looks <= fails) throw new Error('not now');
    return Object.entries(inserted).flatMap(([topic, second]) => {
      const waitingMs = timers.nowMs - second * 1_000;
      return waitingMs < 0
        ? []
        : [{ route: topicRoute(topic), waitingMs, served: topic === 'served', workerless: false }];
    });
  };
  const database = { attempts: { waitingRoutes } } as unknown as QueueDatabase;
  const watch = new UnservedWatch(database, events, { interop: undefined });
  watch.start();
  const look = async (): Promise<void> => {
    const before = looks;
    timers.ringFirst();
    await until(async () => looks > before, 'a look');
    await Promise.resolve();
    await new Promise(setImmediate);
  };
  return { watch, told, look };
}

test.each([4, 6, 12, 19])(
  'a task without a worker that comes %i s after the start is told of, whatever else happens',
  async (second) => {
    const timers = held();
    const { told, look } = watchOver(timers, { misspelt: second });
    await look();
    if (told.length === 0) await look();
    expect(told).toEqual([[second < 5 ? 20 : 80, 'misspelt']]);
  },
);

test('one that comes shortly before the look after another ring is told of as well', async () => {
  const timers = held();
  const { watch, told, look } = watchOver(timers, { misspelt: 0, late: 95 });
  await look();
  watch.expect();
  await look();
  watch.expect();
  await look();
  // Not more often than once a minute.
  expect(told).toEqual([
    [20, 'misspelt'],
    [140, 'late'],
  ]);
});

test('what is still unserved is told of again after ten minutes, without a ring', async () => {
  const timers = held();
  const { told, look } = watchOver(timers, { misspelt: 0 });
  for (let n = 0; n < 2; n += 1) await look();
  expect(told).toEqual([
    [20, 'misspelt'],
    [620, 'misspelt'],
  ]);
});

test('a look that fails is made again', async () => {
  const timers = held();
  const { told, look } = watchOver(timers, { misspelt: 0 }, 2);
  for (let n = 0; n < 3; n += 1) await look();
  expect(told).toEqual([[60, 'misspelt']]);
});

test('where nothing waits unserved, no look follows', async () => {
  const timers = held();
  const { watch, look } = watchOver(timers, { served: 0, later: 60 });
  await look();
  expect(timers.waiting).toBe(0);
  watch.expect();
  watch.stop();
  expect(timers.waiting).toBe(0);
});
