import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { QueueEvents, type QueueEventMap } from '../../lib/index.js';
import { RowsApart } from '../../lib/storage/rows-apart.js';
import { HiddenRows, Standstill, type StandstillParts, Outage } from '../../lib/worker/standstill.js';
import { RunningTasks } from '../../lib/worker/running/running-tasks.js';
import { claimedOf } from './dispatcher-bench.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function watch(
  hidden: () => string | undefined = () => undefined,
  apart?: StandstillParts['database']['apart'],
) {
  const events = new QueueEvents();
  const told: QueueEventMap['worker.stalled'][] = [];
  events.on('worker.stalled', (event) => told.push(event));
  const liveness = { connection: 'session', alive: true, failure: undefined as unknown };
  const outage = new Outage('7', events);
  const running = new RunningTasks();
  const rows = new HiddenRows({ findHidden: async () => hidden() });
  const standstill = new Standstill({
    workerId: '7',
    database: { apart },
    liveness,
    hidden: rows,
    outage,
    running,
    events,
  });
  standstill.start();
  return { told, liveness, outage, running, standstill, rows };
}

const minute = 60_000;

test('a worker that may claim is silent, whatever it has to do', async () => {
  const { told, standstill } = watch();
  await vi.advanceTimersByTimeAsync(10 * minute);
  expect([told, standstill.stall]).toEqual([[], undefined]);
});

test('one without its session says so once a minute, with what failed last, until it is back', async () => {
  const { told, liveness, standstill } = watch();
  Object.assign(liveness, { alive: false, failure: new Error('no more connections') });
  await vi.advanceTimersByTimeAsync(minute);
  expect([told, standstill.stall]).toEqual([[], undefined]);
  await vi.advanceTimersByTimeAsync(10_000);
  const reason = 'others may consider it lost, because its session is down: no more connections';
  expect(told).toEqual([{ workerId: '7', reason, forMs: minute }]);
  expect(standstill.stall).toEqual(told[0]);
  liveness.failure = new Error('the role may not log in');
  await vi.advanceTimersByTimeAsync(2 * minute);
  expect(told.map(({ forMs }) => forMs)).toEqual([minute, 2 * minute, 3 * minute]);
  expect(told.at(-1)?.reason).toContain('the role may not log in');
  liveness.alive = true;
  expect(standstill.stall).toBeUndefined();
  await vi.advanceTimersByTimeAsync(5 * minute);
  expect(told).toHaveLength(3);
});

test('a loss that is over within a minute is not worth a word, however often it comes', async () => {
  const { told, liveness } = watch();
  for (let loss = 0; loss < 10; loss += 1) {
    liveness.alive = false;
    await vi.advanceTimersByTimeAsync(50_000);
    liveness.alive = true;
    await vi.advanceTimersByTimeAsync(10_000);
  }
  expect(told).toEqual([]);
});

test.each([
  ['a refused claim', false],
  ['a lost connection', true],
])('%s, again and again, is told as well', async (_, isLost) => {
  const { told, outage, standstill } = watch();
  outage.report(new Error('it is refused'), isLost);
  await vi.advanceTimersByTimeAsync(minute + 10_000);
  expect(told).toEqual([{ workerId: '7', reason: 'its statements fail: it is refused', forMs: minute }]);
  outage.end();
  expect(standstill.stall).toBeUndefined();
});

test('a worker that takes tasks does not stand still, though some statement of its fails', async () => {
  const { told, outage, running } = watch();
  outage.report(new Error('one is refused'), false);
  for (let round = 0; round < 20; round += 1) {
    running.end(running.begin(claimedOf()));
    await vi.advanceTimersByTimeAsync(10_000);
  }
  expect(told).toEqual([]);
});

test('a worker whose every claim is refused for its rows says so until one is taken', async () => {
  const apart = new RowsApart(
    () => undefined,
    () => 0,
  );
  const { told, running } = watch(undefined, apart);
  apart.add([{ id: '1', route: undefined, error: new Error('it is refused') }]);
  await vi.advanceTimersByTimeAsync(minute + 10_000);
  expect(told).toEqual([{ workerId: '7', reason: expect.stringContaining('it is refused'), forMs: minute }]);
  running.end(running.begin(claimedOf()));
  await vi.advanceTimersByTimeAsync(minute);
  expect(told).toHaveLength(1);
  apart.claimed();
  await vi.advanceTimersByTimeAsync(5 * minute);
  expect(told).toHaveLength(1);
});

test('rows that are hidden are found by a look each minute, and are told until they can be seen', async () => {
  let hidden: string | undefined;
  const { told, rows } = watch(() => hidden);
  await vi.advanceTimersByTimeAsync(10_000);
  hidden = 'a policy hides rows';
  await vi.advanceTimersByTimeAsync(minute);
  expect(rows.found).toBe(hidden);
  await vi.advanceTimersByTimeAsync(minute + 10_000);
  expect(told).toMatchObject([{ reason: 'a policy hides rows' }]);
  hidden = undefined;
  await vi.advanceTimersByTimeAsync(minute);
  expect(rows.found).toBeUndefined();
  const before = told.length;
  await vi.advanceTimersByTimeAsync(3 * minute);
  expect(told).toHaveLength(before);
});

test('after its stop nothing is watched', async () => {
  const { told, liveness, standstill } = watch();
  liveness.alive = false;
  await vi.advanceTimersByTimeAsync(30_000);
  standstill.stop();
  await vi.advanceTimersByTimeAsync(5 * minute);
  expect([told, standstill.stall]).toEqual([[], undefined]);
});
