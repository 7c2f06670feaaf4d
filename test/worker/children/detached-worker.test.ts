import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { QueueEvents } from '../../../lib/index.js';
import { DetachedWorker, type DetachedWorkerParts } from '../../../lib/worker/children/detached-worker.js';
import type { RunningContext } from '../../../lib/worker/running/running-tasks.js';
import { RunningTasks } from '../../../lib/worker/running/running-tasks.js';
import { deferred } from '../../support/waiting.js';
import { claimedOf } from '../dispatcher-bench.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** One whose handler runs until `end`, whatever it is told. */
function work() {
  const running = new RunningTasks();
  const began = deferred();
  const done = vi.fn<(what: string) => void>();
  const does = (what: string) => async (): Promise<void> => done(what);
  const claimed = claimedOf('t:long');
  let aborted: Error | undefined;
  const context = {
    get aborted() {
      return aborted;
    },
  } as RunningContext;
  let task: ReturnType<RunningTasks['begin']>;
  const dispatcher = {
    running,
    runOnly: () => {
      task = running.begin(claimed);
      task.context = context;
      began.resolve();
    },
    finish: does('recorded'),
    stopClaiming: () => undefined,
  };
  const parts = {
    database: {
      workers: { register: async () => '8', retire: does('retired') },
      attempts: { handOver: async () => true },
    },
    liveness: { connection: 'lease', hold: async () => true, release: does('released') },
    listening: { start: async () => undefined, stop: async () => undefined },
    registered: () => ({ dispatcher, halt: { end: () => undefined } }),
    events: new QueueEvents(),
    version: '0',
    tell: async () => undefined,
    handlerEnded: () => done('handler ended'),
    giveUp: () => done('given up'),
  } as unknown as DetachedWorkerParts;
  const ended = new DetachedWorker(parts).run({ parent: '7', claimed, output: '/o' } as never);
  return {
    began: began.promise,
    ended,
    done,
    abort: () => (aborted = new Error('cancelled')),
    end: () => running.end(task),
  };
}

test('a handler that goes on for ten seconds after it was told to stop is given up', async () => {
  const { began, done, abort } = work();
  await began;
  await vi.advanceTimersByTimeAsync(3_600_000);
  abort();
  await vi.advanceTimersByTimeAsync(1_000 + 9_999);
  expect(done).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(done.mock.calls).toEqual([['given up']]);
});

test('one that stops in time is not, and its outcome is recorded before its worker leaves', async () => {
  const { began, ended, done, abort, end } = work();
  await began;
  abort();
  await vi.advanceTimersByTimeAsync(5_000);
  end();
  await ended;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(done.mock.calls.flat()).toEqual(['handler ended', 'recorded', 'released', 'retired']);
});
