import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { handlerPhase, limitHandler } from '../../../lib/coordination/lease-protocol.js';
import { TarefaError } from '../../../lib/errors.js';
import { QueueEvents } from '../../../lib/index.js';
import { DetachedWorker, type DetachedWorkerParts } from '../../../lib/worker/children/detached-worker.js';
import type { RunningContext } from '../../../lib/worker/running/running-tasks.js';
import { RunningTasks } from '../../../lib/worker/running/running-tasks.js';
import { deferred } from '../../support/waiting.js';
import { claimedOf } from '../dispatcher-bench.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** One whose handler runs until `end`, whatever it is told. */
function work(handOver = async () => true) {
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
      attempts: { handOver },
    },
    liveness: { connection: 'lease', hold: async () => true, release: does('released') },
    listening: { start: async () => undefined, stop: async () => undefined },
    registered: () => ({ dispatcher, halt: { end: () => undefined } }),
    events: new QueueEvents(),
    version: '0',
    tell: async () => undefined,
    handlerBegins: () => done('handler begins'),
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
  expect(done.mock.calls.flat()).toEqual(['handler begins']);
  await vi.advanceTimersByTimeAsync(1);
  expect(done.mock.calls.flat()).toEqual(['handler begins', 'given up']);
});

test('one that stops in time is not, and its outcome is recorded before its worker leaves', async () => {
  const { began, ended, done, abort, end } = work();
  await began;
  abort();
  await vi.advanceTimersByTimeAsync(5_000);
  end();
  await ended;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(done.mock.calls.flat()).toEqual([
    'handler begins',
    'handler ended',
    'recorded',
    'released',
    'retired',
  ]);
});

test('the time of a handler begins when its attempt has been taken over, however long that takes', async () => {
  let isAway = true;
  const { began, done } = work(async () => {
    if (isAway) throw new TarefaError('CONNECTION_LOST', 'the database is away');
    return true;
  });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(done).not.toHaveBeenCalled();
  isAway = false;
  await vi.advanceTimersByTimeAsync(10_000);
  await began;
  expect(done.mock.calls.flat()).toEqual(['handler begins']);
});

test('a process is ended when the time of its handler is over, which begins when that runs', async () => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
  onTestFinished(() => kill.mockRestore());
  const guard = { afterMs: 11_000, cancelGraceMs: 10_000, phase: new SharedArrayBuffer(4) };
  const phase = new Int32Array(guard.phase);
  limitHandler(guard);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(kill).not.toHaveBeenCalled();
  Atomics.store(phase, 0, handlerPhase.runs);
  await vi.advanceTimersByTimeAsync(11_000);
  expect(kill).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(100);
  expect(kill.mock.calls).toEqual([[process.pid, 'SIGKILL']]);
});

test('one whose handler has ended is left alone', async () => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
  onTestFinished(() => kill.mockRestore());
  const guard = { afterMs: 11_000, cancelGraceMs: 10_000, phase: new SharedArrayBuffer(4) };
  const phase = new Int32Array(guard.phase);
  limitHandler(guard);
  Atomics.store(phase, 0, handlerPhase.runs);
  await vi.advanceTimersByTimeAsync(100);
  Atomics.store(phase, 0, handlerPhase.ended);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(kill).not.toHaveBeenCalled();
});
