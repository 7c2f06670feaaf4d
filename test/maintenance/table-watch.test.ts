import { expect, test, vi } from 'vitest';
import { QueueEvents, type QueueEventMap } from '../../lib/events.js';
import { TableWatch } from '../../lib/maintenance/table-watch.js';
import type { UnfollowedAttempt } from '../../lib/storage/attempt.js';
import type { AttemptStore } from '../../lib/storage/attempts.js';
import type { ErrorKind } from '../../lib/storage/error-kind.js';
import type { Inconsistency } from '../../lib/storage/inconsistencies.js';
import type { QueueReports } from '../../lib/storage/reports.js';
import { holdTimers } from '../support/held-timers.js';

const intervalMs = 4_321;

/** A watch over a database in which these attempts lack what must follow them. */
function watch(lacking: readonly UnfollowedAttempt[], refuse?: ErrorKind, found: Inconsistency[] = []) {
  const timers = holdTimers((ms) => ms === intervalMs);
  const events = new QueueEvents();
  const told: QueueEventMap['table.inconsistent'][] = [];
  events.on('table.inconsistent', (event) => told.push(event));
  const lack = new Map(lacking.map((one) => [one.id, one]));
  const attempts = {
    findUnfollowed: vi.fn<AttemptStore['findUnfollowed']>(async (ids) =>
      ids.flatMap((id) => lack.get(id) ?? []),
    ),
    insertNext: vi.fn<AttemptStore['insertNext']>(async (ids) => {
      if (refuse) throw new Error('no room');
      for (const id of ids) lack.delete(id);
    }),
  };
  const ring = vi.fn<() => Promise<void>>(async () => undefined);
  const check = vi.fn<QueueReports['check']>(async () => found);
  const database = { attempts, reports: { check }, classify: () => refuse ?? 'other' };
  const table = new TableWatch(database as never, { ring }, events, 60, intervalMs);
  table.start();
  const fail = (id: string): void => {
    const task = { id, firstAttemptId: id, attempt: 1, topic: 'a', subscriptionId: null, dead: false };
    events.emit('task.failed', { task, message: 'bad', error: undefined, nextAttemptInMs: 1 });
  };
  const task = { id: '1', firstAttemptId: '1', attempt: 1, topic: 'a', subscriptionId: null, dead: false };
  const deliver = (): void => events.emit('publication.delivered', { task, deliveries: 1 });
  return { timers, told, attempts, check, ring, table, fail, deliver };
}

test('nothing is asked while nothing fails, and once for many failures', async () => {
  const { timers, attempts, check, table, fail, told } = watch([]);
  expect(timers.waiting).toBe(0);
  for (let n = 1; n <= 1_200; n += 1) fail(String(n));
  expect(timers.waiting, 'for the look by ids and for the check').toBe(2);
  timers.ringFirst();
  timers.ringFirst();
  await table.stop();
  expect(check).toHaveBeenCalledTimes(1);
  expect(attempts.findUnfollowed).toHaveBeenCalledTimes(1);
  expect(attempts.findUnfollowed.mock.calls[0]?.[0]).toHaveLength(1_000);
  expect(attempts.insertNext).not.toHaveBeenCalled();
  expect([timers.waiting, told]).toEqual([0, []]);
});

test('a next attempt that is missing is inserted, rung for and told; a dead task is told', async () => {
  const { timers, told, attempts, ring, table, fail } = watch([
    { id: '2', kind: 'no-next-attempt' },
    { id: '3', kind: 'no-dead-task' },
  ]);
  for (const id of ['1', '2', '3']) fail(id);
  timers.ringFirst();
  await table.stop();
  expect(attempts.insertNext.mock.calls).toEqual([[['2']]]);
  expect(ring).toHaveBeenCalledTimes(1);
  expect(told).toEqual([
    { kind: 'no-next-attempt', ids: ['2'], mended: true, refused: undefined },
    { kind: 'no-dead-task', ids: ['3'], mended: false, refused: undefined },
  ]);
});

test('a next attempt that the database refuses is told with its reason', async () => {
  const { timers, told, ring, table, fail } = watch([{ id: '2', kind: 'no-next-attempt' }], 'row');
  fail('2');
  timers.ringFirst();
  await table.stop();
  expect(ring).not.toHaveBeenCalled();
  expect(told).toEqual([{ kind: 'no-next-attempt', ids: ['2'], mended: false, refused: 'no room' }]);
});

test('while the database does not answer the failures are kept for the next look', async () => {
  const { timers, told, attempts, table, fail } = watch([{ id: '2', kind: 'no-next-attempt' }]);
  attempts.findUnfollowed.mockRejectedValueOnce(new Error('gone'));
  fail('2');
  timers.ringFirst();
  // The check waits as well.
  await vi.waitFor(() => expect(timers.waiting).toBe(2));
  timers.ringFirst();
  timers.ringFirst();
  await table.stop();
  expect(told).toMatchObject([{ ids: ['2'], mended: true }]);
});

test('a watch that stops looks at what has failed and been delivered since its last look', async () => {
  const found: Inconsistency[] = [{ kind: 'missing-deliveries', count: 1, ids: ['4'] }];
  const { timers, told, table, fail, deliver } = watch(
    [{ id: '2', kind: 'no-next-attempt' }],
    undefined,
    found,
  );
  fail('2');
  deliver();
  await table.stop();
  expect(told).toEqual([
    { kind: 'no-next-attempt', ids: ['2'], mended: true, refused: undefined },
    { kind: 'missing-deliveries', ids: ['4'], mended: false, refused: undefined },
  ]);
  expect(timers.waiting).toBe(0);
});

test('a database that does not answer when the watch stops is not asked again', async () => {
  const { timers, attempts, check, table, fail } = watch([{ id: '2', kind: 'no-next-attempt' }]);
  attempts.findUnfollowed.mockRejectedValueOnce(new Error('gone'));
  check.mockRejectedValueOnce(new Error('gone'));
  fail('2');
  await table.stop();
  expect([attempts.findUnfollowed.mock.calls.length, check.mock.calls.length, timers.waiting]).toEqual([
    1, 1, 0,
  ]);
});

test('a watch that has stopped notes nothing', async () => {
  const { timers, table, fail } = watch([]);
  await table.stop();
  fail('1');
  expect(timers.waiting).toBe(0);
});

test('the newest rows are checked after a delivery and for a lost worker, and each case is told once', async () => {
  const held = holdTimers((ms) => ms > 50_000 && ms <= 60_000);
  const found: Inconsistency[] = [{ kind: 'missing-deliveries', count: 1, ids: ['4'] }];
  const { timers, told, check, table, deliver } = watch([], undefined, found);
  deliver();
  deliver();
  expect(timers.waiting).toBe(1);
  timers.ringFirst();
  await vi.waitFor(() => expect(told).toHaveLength(1));
  // By ids alone: the clock of the database may be another than this computer's.
  expect(check.mock.calls).toMatchObject([[{ since: undefined, newest: 10_000 }]]);
  expect(told).toEqual([{ kind: 'missing-deliveries', ids: ['4'], mended: false, refused: undefined }]);
  found.push({ kind: 'no-dead-task', count: 2, ids: ['4', '5'] });
  // From one check to the next a minute passes.
  table.checkSoon();
  expect([timers.waiting, held.waiting]).toEqual([0, 1]);
  held.ringFirst();
  await table.stop();
  expect(told.slice(1)).toEqual([{ kind: 'no-dead-task', ids: ['5'], mended: false, refused: undefined }]);
});

test('a check that fails is made again, and a next attempt that it finds is inserted', async () => {
  const held = holdTimers((ms) => ms > 50_000 && ms <= 60_000);
  const found: Inconsistency[] = [{ kind: 'no-next-attempt', count: 1, ids: ['2'] }];
  const { timers, told, check, attempts, table } = watch(
    [{ id: '2', kind: 'no-next-attempt' }],
    undefined,
    found,
  );
  check.mockRejectedValueOnce(new Error('gone'));
  table.checkSoon();
  timers.ringFirst();
  await vi.waitFor(() => expect(held.waiting).toBe(1));
  held.ringFirst();
  await table.stop();
  expect(attempts.insertNext.mock.calls).toEqual([[['2']]]);
  expect(told).toMatchObject([{ kind: 'no-next-attempt', ids: ['2'], mended: true }]);
});

test('attempts that nobody holds are told at the second check that finds them, which follows by itself', async () => {
  const held = holdTimers((ms) => ms > 50_000 && ms <= 60_000);
  const found: Inconsistency[] = [{ kind: 'no-worker', count: 2, ids: ['7', '6'] }];
  const { timers, told, table } = watch([], undefined, found);
  table.checkSoon();
  timers.ringFirst();
  await vi.waitFor(() => expect(held.waiting).toBe(1));
  expect(told).toEqual([]);
  // One was recovered meanwhile, and another one is held by nobody since.
  found[0] = { kind: 'no-worker', count: 2, ids: ['8', '6'] };
  held.ringFirst();
  await vi.waitFor(() => expect(held.waiting).toBe(1));
  expect(told).toEqual([{ kind: 'no-worker', ids: ['6'], mended: false, refused: undefined }]);
  found.length = 0;
  held.ringFirst();
  await table.stop();
  expect([told.length, held.waiting]).toEqual([1, 0]);
});
