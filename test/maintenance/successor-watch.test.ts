import { expect, test, vi } from 'vitest';
import { QueueEvents, type QueueEventMap } from '../../lib/events.js';
import { SuccessorWatch } from '../../lib/maintenance/successor-watch.js';
import type { UnfollowedAttempt } from '../../lib/storage/attempt.js';
import type { AttemptStore } from '../../lib/storage/attempts.js';
import type { ErrorKind } from '../../lib/storage/error-kind.js';
import { holdTimers } from '../support/held-timers.js';

const intervalMs = 4_321;

/** A watch over a database in which these attempts lack what must follow them. */
function watch(lacking: readonly UnfollowedAttempt[], refuse?: ErrorKind) {
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
  const database = { attempts, classify: () => refuse ?? 'other' };
  const successors = new SuccessorWatch({ database, bell: { ring }, events, intervalMs } as never);
  successors.start();
  const fail = (id: string): void => {
    const task = { id, firstAttemptId: id, attempt: 1, topic: 'a', subscriptionId: null, dead: false };
    events.emit('task.failed', { task, message: 'bad', error: undefined, nextAttemptInMs: 1 });
  };
  return { timers, told, attempts, ring, successors, fail };
}

test('nothing is asked while nothing fails, and once for many failures', async () => {
  const { timers, attempts, successors, fail, told } = watch([]);
  expect(timers.waiting).toBe(0);
  for (let n = 1; n <= 1_200; n += 1) fail(String(n));
  expect(timers.waiting).toBe(1);
  timers.ringFirst();
  await successors.stop();
  expect(attempts.findUnfollowed).toHaveBeenCalledTimes(1);
  expect(attempts.findUnfollowed.mock.calls[0]?.[0]).toHaveLength(1_000);
  expect(attempts.insertNext).not.toHaveBeenCalled();
  expect([timers.waiting, told]).toEqual([0, []]);
});

test('a next attempt that is missing is inserted, rung for and told; a dead task is told', async () => {
  const { timers, told, attempts, ring, successors, fail } = watch([
    { id: '2', kind: 'no-next-attempt' },
    { id: '3', kind: 'no-dead-task' },
  ]);
  for (const id of ['1', '2', '3']) fail(id);
  timers.ringFirst();
  await successors.stop();
  expect(attempts.insertNext.mock.calls).toEqual([[['2']]]);
  expect(ring).toHaveBeenCalledTimes(1);
  expect(told).toEqual([
    { kind: 'no-next-attempt', ids: ['2'], mended: true, refused: undefined },
    { kind: 'no-dead-task', ids: ['3'], mended: false, refused: undefined },
  ]);
});

test('a next attempt that the database refuses is told with its reason', async () => {
  const { timers, told, ring, successors, fail } = watch([{ id: '2', kind: 'no-next-attempt' }], 'row');
  fail('2');
  timers.ringFirst();
  await successors.stop();
  expect(ring).not.toHaveBeenCalled();
  expect(told).toEqual([{ kind: 'no-next-attempt', ids: ['2'], mended: false, refused: 'no room' }]);
});

test('while the database does not answer the failures are kept for the next look', async () => {
  const { timers, told, attempts, successors, fail } = watch([{ id: '2', kind: 'no-next-attempt' }]);
  attempts.findUnfollowed.mockRejectedValueOnce(new Error('gone'));
  fail('2');
  timers.ringFirst();
  await vi.waitFor(() => expect(timers.waiting).toBe(1));
  timers.ringFirst();
  await successors.stop();
  expect(told).toMatchObject([{ ids: ['2'], mended: true }]);
});

test('a watch that has stopped notes nothing', async () => {
  const { timers, successors, fail } = watch([]);
  await successors.stop();
  fail('1');
  expect(timers.waiting).toBe(0);
});
