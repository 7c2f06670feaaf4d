import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { QueueEvents } from '../../../lib/events.js';
import type { AttemptOutcome, ClaimedTask, FailureOutcome } from '../../../lib/storage/attempt.js';
import type { AttemptStore } from '../../../lib/storage/attempts.js';
import type { ErrorKind } from '../../../lib/storage/error-kind.js';
import { Signal } from '../../../lib/timing/signal.js';
import { Settler } from '../../../lib/worker/running/settler.js';
import { claimedOf, settleDown } from '../dispatcher-bench.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => vi.useRealTimers());

const nothingReturned = { message: 'completed', result: null };

function bench() {
  const attempts = {
    failMany: vi.fn<AttemptStore['failMany']>(async (failures) =>
      failures.map(({ id }): FailureOutcome => ({ id, nextAttemptInMs: 5, deadId: undefined })),
    ),
    standing: vi.fn<AttemptStore['standing']>(async () => []),
    readOutcome: vi.fn<() => Promise<AttemptOutcome>>(async () => 'lost'),
  };
  const classify = vi.fn<() => ErrorKind>(() => 'row');
  const events = new QueueEvents();
  const told: unknown[] = [];
  for (const name of ['task.completed', 'task.failed', 'task.lost', 'task.buried'] as const) {
    events.on(name, ({ task }) => told.push([name, task.id]));
  }
  events.on('warning', ({ message }) => told.push(message));
  const counted: string[] = [];
  const counter = { completed: (_: string, id: string) => void counted.push(id) };
  const signal = new Signal();
  const settler = new Settler('7', { database: { attempts, classify } as never, events, signal, counter });
  const fail = (claimed: ClaimedTask, error: unknown = new Error('no stock')): void =>
    settler.fail(claimed, { error, maxAttempts: 3, next: { kind: 'after-due', delayMs: 1_000 } });
  return { settler, attempts, classify, told, counted, fail };
}

test('completions are taken oldest first, at most as many as the statement carries', () => {
  const { settler } = bench();
  const all = [claimedOf(), claimedOf(), claimedOf()];
  for (const one of all) settler.complete(one, nothingReturned);
  const taken = settler.take(2);
  expect(taken.map(({ claimed }) => claimed)).toEqual(all.slice(0, 2));
  settler.putBack(taken);
  expect(settler.take(9).map(({ claimed }) => claimed)).toEqual(all);
  expect(settler.pending).toBe(0);
});

test('a completion that another session keeps locked is tried again, and counts as pending until then', async () => {
  const { settler, attempts, told } = bench();
  const one = claimedOf();
  settler.complete(one, nothingReturned);
  attempts.standing.mockResolvedValueOnce([{ ...one, cancelled: false, completed: false }]);
  await settler.settled(settler.take(9), { settledOnly: [] });
  expect([settler.pending, settler.knows(one.id), told]).toEqual([1, true, []]);
  await vi.runAllTimersAsync();
  expect(settler.take(9).map(({ claimed }) => claimed)).toEqual([one]);
});

test.each([
  ['completed', 'task.completed'],
  ['lost', 'task.lost'],
  ['failed', 'task.lost'],
] as const)('a completion refused because the attempt is %s is told as %s', async (outcome, event) => {
  const { settler, attempts, told } = bench();
  const one = claimedOf();
  attempts.readOutcome.mockResolvedValueOnce(outcome);
  settler.complete(one, nothingReturned);
  await settler.settled(settler.take(9), { settledOnly: [] });
  await settleDown();
  expect(told).toEqual([[event, one.id]]);
});

test('while nobody can say why a completion was refused, it is tried again, and told as lost once that is known', async () => {
  const { settler, attempts, told } = bench();
  const one = claimedOf();
  attempts.readOutcome.mockRejectedValueOnce(new Error('the connection was cut'));
  settler.complete(one, nothingReturned);
  await settler.settled(settler.take(9), { settledOnly: [] });
  await settleDown();
  expect([settler.pending, settler.knows(one.id), told]).toEqual([1, true, []]);
  await vi.runAllTimersAsync();
  await settler.settled(settler.take(9), { settledOnly: [] });
  await settleDown();
  expect([settler.pending, told]).toEqual([0, [['task.lost', one.id]]]);
});

test('a success is counted once, when the table has it', async () => {
  const { settler, counted } = bench();
  const one = claimedOf();
  settler.complete(one, nothingReturned);
  expect(counted).toEqual([]);
  await settler.settled(settler.take(9), { settledOnly: undefined });
  expect(counted).toEqual([one.id]);
});

test('a failure carries its verdict: the last attempt has no next one', async () => {
  const { settler, attempts, fail } = bench();
  const [first, last] = [claimedOf(), claimedOf()];
  Object.assign(last.task, { attempt: 3 });
  fail(first);
  fail(last);
  await settler.flushFailures();
  const [failures] = attempts.failMany.mock.calls[0] ?? [[]];
  expect(failures.map(({ next, note }) => [next, note])).toEqual([
    [{ kind: 'after-due', delayMs: 1_000 }, ' (will be tried again)'],
    [undefined, ' (no attempts left)'],
  ]);
});

test('failures are kept when the connection is lost, and told when they are written', async () => {
  const { settler, attempts, classify, told, fail } = bench();
  const one = claimedOf();
  fail(one);
  classify.mockReturnValue('connection');
  attempts.failMany.mockRejectedValueOnce(new Error('gone'));
  await expect(settler.flushFailures()).rejects.toThrow('gone');
  expect([settler.pending, told]).toEqual([1, []]);
  await settler.flushFailures();
  expect([settler.pending, told]).toEqual([0, [['task.failed', one.id]]]);
});

test('a failure that the database refuses is told once, tried again in a second, and alone', async () => {
  const { settler, attempts, told, fail } = bench();
  const [odd, other, later] = [claimedOf(), claimedOf(), claimedOf()];
  const refuse = async (failures: Parameters<AttemptStore['failMany']>[0]) => {
    if (failures.some(({ id }) => id === odd.id)) throw new Error('mine');
    return failures.map(({ id }): FailureOutcome => ({ id, nextAttemptInMs: 5, deadId: undefined }));
  };
  attempts.failMany.mockImplementation(refuse);
  fail(odd);
  fail(other);
  await settler.flushFailures();
  const warning = expect.stringMatching(`attempt ${odd.id} failed, but its failure cannot be recorded: mine`);
  expect(told).toEqual([warning, ['task.failed', other.id]]);
  expect([settler.pending, settler.knows(odd.id)]).toEqual([1, true]);
  await vi.advanceTimersByTimeAsync(1_000);
  fail(later);
  attempts.failMany.mockClear();
  await settler.flushFailures();
  expect(attempts.failMany.mock.calls.map(([failures]) => failures.map(({ id }) => id))).toEqual([
    [later.id],
    [odd.id],
  ]);
  expect(told).toHaveLength(3);
});

test('an attempt left to recovery stays known: it must not be given back', () => {
  const { settler, told } = bench();
  const one = claimedOf();
  settler.leave(one);
  expect([settler.knows(one.id), [...settler.ids()], settler.pending]).toEqual([true, [one.id], 0]);
  expect(told).toEqual([['task.lost', one.id]]);
});
