import { expect, test, vi } from 'vitest';
import { TarefaError } from '../../../lib/errors.js';
import type { AttemptStore } from '../../../lib/storage/attempts.js';
import { deferred } from '../../support/waiting.js';
import {
  claimedOf,
  passTime,
  settleDown,
  startDispatcher,
  useDispatchers,
  type DispatcherBenchOptions,
} from '../dispatcher-bench.js';

// A claim is under way when the worker is told to stop: `shutdown.test.ts` shows the same on a server.
useDispatchers();

const never = new Promise<void>(() => undefined);

type Release = AttemptStore['releaseMany'];
const releaseAll: Release = async (_, claims) => claims.map(({ id }) => id);

/** A dispatcher, and what it gives back. */
function start(release: Release = releaseAll, options: DispatcherBenchOptions = {}) {
  const releaseMany = vi.fn<Release>(release);
  const bench = startDispatcher({ ...options, attempts: { ...options.attempts, releaseMany } });
  const released: string[] = [];
  bench.events.on('task.released', ({ task }) => released.push(task.id));
  /** Tells it to stop; `over` becomes true when it has. */
  const stop = () => {
    const state = { over: false, finished: never };
    bench.dispatcher.stopClaiming();
    state.finished = bench.dispatcher.finish(never).then(() => void (state.over = true));
    return state;
  };
  return { ...bench, releaseMany, released, stop };
}

test('what a claim brings after the stop is given back by one statement, and told to the others', async () => {
  const { statements, started, deliver, dispatcher, releaseMany, released, rings, stop } = start();
  const claim = await statements.next();
  const stopping = stop();
  await settleDown();
  expect(stopping.over).toBe(false);
  const claimed = [claimedOf(), claimedOf('p')];
  claim.answer({ claimed });
  await stopping.finished;
  expect(releaseMany.mock.calls).toEqual([['7', claimed]]);
  expect(released).toEqual(claimed.map(({ id }) => id));
  expect(rings).toHaveBeenCalledWith('tasks', { dueMs: 0 });
  expect([started.left, dispatcher.running.size]).toEqual([0, 0]);
  expect(deliver).not.toHaveBeenCalled();
});

test('it is given back while handlers go on, not when they have ended', async () => {
  const { statements, started, dispatcher, released } = start();
  (await statements.next()).answer({ claimed: [claimedOf()] });
  const running = await started.next();
  const claim = await statements.next();
  dispatcher.stopClaiming();
  const late = claimedOf();
  claim.answer({ claimed: [late] });
  await settleDown();
  expect(released).toEqual([late.id]);
  running.succeed();
  (await statements.next()).answer();
});

test('dead attempts that nobody handles are given back as well', async () => {
  const asked = deferred();
  const answered = deferred<readonly ReturnType<typeof claimedOf>[]>();
  const { claims, started, released, stop } = start();
  claims.claimUnattended.mockImplementationOnce(() => (asked.resolve(), answered.promise));
  await asked.promise;
  const stopping = stop();
  const dead = claimedOf('t:elsewhere');
  answered.resolve([dead]);
  await stopping.finished;
  expect(released).toEqual([dead.id]);
  expect(started.left).toBe(0);
});

test('with two statements under way each is waited for, and gives back what it brings', async () => {
  const { statements, released, stop } = start(releaseAll, { concurrency: 4, parallel: 2 });
  const [first, second] = [await statements.next(), await statements.next()];
  const stopping = stop();
  const claimed = [claimedOf(), claimedOf()];
  first.answer({ claimed: claimed.slice(0, 1) });
  await settleDown();
  expect(stopping.over).toBe(false);
  second.answer({ claimed: claimed.slice(1) });
  await stopping.finished;
  expect(released).toEqual(claimed.map(({ id }) => id));
});

test('what the database did not give back, because of an error, is given back by another try', async () => {
  let tries = 0;
  const { statements, released, stop } = start(async (id, claims) => {
    if ((tries += 1) === 1) throw new Error('out of memory');
    return releaseAll(id, claims);
  });
  const claim = await statements.next();
  const stopping = stop();
  const late = claimedOf();
  claim.answer({ claimed: [late] });
  await passTime(1_000);
  await stopping.finished;
  expect({ tries, released }).toEqual({ tries: 2, released: [late.id] });
});

test('what another session has locked is given back once the lock is gone', async () => {
  let isLocked = true;
  const release: Release = async (id, claims) => (isLocked ? [] : releaseAll(id, claims));
  const late = claimedOf();
  const { statements, released, stop } = start(release, {
    attempts: { standing: async () => [{ ...late, cancelled: false, completed: false }] },
  });
  const claim = await statements.next();
  const stopping = stop();
  claim.answer({ claimed: [late] });
  await passTime(1_000);
  expect(stopping.over).toBe(false);
  isLocked = false;
  await passTime(1_000);
  await stopping.finished;
  expect(released).toEqual([late.id]);
});

test('what was given back by a statement whose answer was lost is not waited for', async () => {
  const late = claimedOf();
  let tries = 0;
  const { statements, released, stop } = start(async () => {
    if ((tries += 1) === 1) throw new TarefaError('CONNECTION_LOST', 'gone');
    return [];
  });
  const claim = await statements.next();
  const stopping = stop();
  claim.answer({ claimed: [late] });
  await passTime(1_000);
  await stopping.finished;
  expect({ tries, released }).toEqual({ tries: 2, released: [] });
});

test('at the deadline what is locked is left to recovery', async () => {
  const late = claimedOf();
  const { statements, dispatcher } = start(async () => [], {
    attempts: { standing: async () => [{ ...late, cancelled: false, completed: false }] },
  });
  const claim = await statements.next();
  dispatcher.stopClaiming();
  claim.answer({ claimed: [late] });
  await settleDown();
  const deadline = deferred();
  const finished = dispatcher.finish(deadline.promise);
  deadline.resolve();
  await expect(finished).resolves.toBeUndefined();
});
