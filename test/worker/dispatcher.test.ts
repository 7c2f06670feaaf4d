import { expect, test, vi } from 'vitest';
import { TarefaError } from '../../lib/errors.js';
import type { AttemptStore } from '../../lib/storage/attempts.js';
import { isolatedRoute } from '../../lib/storage/route.js';
import { deferred, nextEvent } from '../support/waiting.js';
import {
  claimedOf,
  type DispatcherBenchOptions,
  passTime,
  settleDown,
  startDispatcher,
  useDispatchers,
} from './dispatcher-bench.js';

useDispatchers();

/** A suspect waits on a route that the worker serves. */
const suspects: DispatcherBenchOptions['attempts'] = {
  promote: async () => ({ promoted: 1, earliestMs: undefined, nextDueInMs: undefined, isolated: true }),
  routeHeads: async () => [{ route: isolatedRoute('t:a'), priority: 50, dueMs: 0 }],
};

test('a worker that starts claims for all its slots, of what it serves', async () => {
  const { statements } = startDispatcher({ concurrency: 3 });
  const { completions, demand } = await statements.next();
  expect(completions).toEqual([]);
  expect(demand).toEqual({
    routes: [
      { route: 'p', limit: 3, only: 'live' },
      { route: 't:a', limit: 3, only: 'live' },
    ],
    total: 3,
    order: 'age',
  });
});

test('a claim that found nothing is not repeated until a ring', async () => {
  const { statements, ring, claims } = startDispatcher();
  (await statements.next()).answer();
  await settleDown();
  expect(statements.left).toBe(0);
  ring();
  expect((await statements.next()).demand?.total).toBe(2);
  expect(claims.heard).toHaveBeenCalledWith(1_000, 50);
});

test('a ring for something new on a route that is always asked for leads to a claim, and to no search for routes', async () => {
  const routeHeads = vi.fn<AttemptStore['routeHeads']>(async () => []);
  const { dispatcher, statements, claims } = startDispatcher({ attempts: { routeHeads } });
  (await statements.next()).answer();
  await settleDown();
  let now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 1_000));
  const before = routeHeads.mock.calls.length;
  const ring = { later: false, halt: false, changed: false, dueMs: 'lately', highest: 70 } as const;
  dispatcher.heard({ ...ring, route: 't:a' });
  (await statements.next()).answer();
  await settleDown();
  expect(claims.heard).toHaveBeenLastCalledWith('lately', 70);
  expect(routeHeads.mock.calls.length - before).toBe(0);
  dispatcher.heard({ ...ring, route: undefined });
  (await statements.next()).answer();
  await settleDown();
  expect(routeHeads.mock.calls.length - before).toBe(1);
});

test('a ring while a claim is under way leads to another one: that claim may not have seen the task', async () => {
  const { statements, ring } = startDispatcher();
  const first = await statements.next();
  ring();
  await settleDown();
  expect(statements.left).toBe(0);
  first.answer();
  expect((await statements.next()).demand?.total).toBe(2);
});

test('what ended is settled by the statement that claims for its slot, and first', async () => {
  const { statements, started } = startDispatcher();
  const claimed = [claimedOf(), claimedOf()];
  (await statements.next()).answer({ claimed });
  const [first, second] = [await started.next(), await started.next()];
  first.succeed();
  const one = await statements.next();
  expect(one.completions.map(({ id }) => id)).toEqual([claimed[0]?.id]);
  expect(one.demand?.total).toBe(1);
  second.succeed();
  await settleDown();
  expect(statements.left).toBe(0);
  one.answer();
  const two = await statements.next();
  expect(two.completions.map(({ id }) => id)).toEqual([claimed[1]?.id]);
  expect(two.demand?.total).toBe(2);
});

test('handlers that end in one turn of the event loop are settled together', async () => {
  const { statements, started } = startDispatcher();
  (await statements.next()).answer({ claimed: [claimedOf(), claimedOf()] });
  const both = [await started.next(), await started.next()];
  for (const one of both) one.succeed();
  expect((await statements.next()).completions).toHaveLength(2);
});

test('a worker without a free slot sends nothing, whoever rings', async () => {
  const { statements, started, ring } = startDispatcher({ concurrency: 1 });
  (await statements.next()).answer({ claimed: [claimedOf()] });
  const running = await started.next();
  ring();
  await settleDown();
  expect(statements.left).toBe(0);
  running.succeed();
  expect((await statements.next()).demand?.total).toBe(1);
});

test('a failure is written, and the others are told, before the next claim', async () => {
  const { statements, started, attempts, rings, ring } = startDispatcher();
  (await statements.next()).answer({ claimed: [claimedOf()] });
  const next = await statements.next();
  (await started.next()).fail(new Error('boom'));
  ring();
  expect(attempts.failMany).not.toHaveBeenCalled();
  next.answer();
  expect((await statements.next()).demand?.total).toBe(2);
  expect(attempts.failMany).toHaveBeenCalledTimes(1);
  expect(rings).toHaveBeenCalledTimes(1);
});

test('after an error the outcomes are sent again, and the outage is told once until it is over', async () => {
  const { statements, started, events } = startDispatcher();
  const told: string[] = [];
  events.on('worker.error', () => told.push('failing'));
  events.on('worker.recovered', () => told.push('recovered'));
  (await statements.next()).answer({ claimed: [claimedOf(), claimedOf()] });
  const running = await started.next();
  running.succeed();
  for (let n = 0; n < 2; n += 1) {
    const one = await statements.next();
    expect(one.completions.map(({ id }) => id)).toEqual([running.claimed.id]);
    one.fail(new Error('out of memory'));
    await passTime(1_000);
  }
  const recovered = nextEvent(events, 'worker.recovered');
  const last = await statements.next();
  expect(last.completions).toHaveLength(1);
  expect(last.demand?.total).toBe(1);
  last.answer();
  await recovered;
  expect(told).toEqual(['failing', 'recovered']);
});

test('after a lost connection the table is compared before the next claim, which finds whatever is due', async () => {
  const { statements, attempts, claims, events } = startDispatcher();
  let failing = false;
  events.on('worker.error', () => (failing = true));
  claims.invalidate.mockClear();
  (await statements.next()).fail(new TarefaError('CONNECTION_LOST', 'gone'));
  await passTime(1_000);
  await statements.next();
  expect(attempts.heldBy).toHaveBeenCalledTimes(1);
  expect(claims.invalidate).toHaveBeenCalled();
  expect(failing).toBe(false);
});

test('what was claimed runs though the fate of outcomes beside it cannot be read', async () => {
  const { statements, started, events } = startDispatcher({
    attempts: { standing: () => Promise.reject(new Error('no answer')) },
  });
  (await statements.next()).answer({ claimed: [claimedOf()] });
  const first = await started.next();
  const beside = await statements.next();
  first.succeed();
  beside.answer();
  const failing = nextEvent(events, 'worker.error');
  const claimed = claimedOf();
  (await statements.next()).answer({ claimed: [claimed], settledOnly: [] });
  expect((await started.next()).claimed).toBe(claimed);
  await failing;
  await passTime(1_000);
  expect((await statements.next()).completions.map(({ id }) => id)).toEqual([first.claimed.id]);
});

test('while its liveness is lost a worker settles and claims nothing', async () => {
  const { statements, started, state, ring } = startDispatcher();
  (await statements.next()).answer({ claimed: [claimedOf(), claimedOf()] });
  const [first] = [await started.next(), await started.next()];
  state.alive = false;
  first.succeed();
  const settling = await statements.next();
  expect(settling).toMatchObject({ demand: undefined, completions: [{ id: first.claimed.id }] });
  settling.answer();
  await settleDown();
  state.alive = true;
  ring();
  expect((await statements.next()).demand?.total).toBe(1);
});

test('publications of one claim are delivered together, and take their slots meanwhile', async () => {
  const { statements, deliver } = startDispatcher({ concurrency: 3 });
  const delivered = deferred();
  deliver.mockReturnValueOnce(delivered.promise);
  const claimed = [claimedOf('p'), claimedOf('p')];
  (await statements.next()).answer({ claimed });
  const next = await statements.next();
  expect(deliver.mock.calls).toEqual([[claimed]]);
  expect(next.demand?.total).toBe(1);
  next.answer();
  await settleDown();
  // Its slots are free, but nothing says that there is more.
  delivered.resolve();
  await settleDown();
  expect(statements.left).toBe(0);
});

test('dead attempts that nobody handles are claimed into free slots after a claim that found nothing', async () => {
  const { statements, started, claims } = startDispatcher({ concurrency: 5 });
  const dead = claimedOf('t:elsewhere');
  claims.claimUnattended.mockResolvedValueOnce([dead]);
  (await statements.next()).answer();
  expect((await started.next()).claimed).toBe(dead);
  expect(claims.claimUnattended.mock.calls).toEqual([[5]]);
});

test('dead attempts take no slot whose attempt has ended, but is not settled: the table would have one too many', async () => {
  const { dispatcher, statements, started, claims } = startDispatcher({ concurrency: 2 });
  (await statements.next()).answer({ claimed: [claimedOf()] });
  const running = await started.next();
  const claim = await statements.next();
  // It has looked for them when it started, and does so again after a while only.
  claims.claimUnattended.mockClear();
  const now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => now + 1_000);
  dispatcher.look();
  running.succeed();
  await settleDown();
  claim.answer();
  await statements.next();
  expect(claims.claimUnattended.mock.calls).toEqual([[1]]);
});

test('a worker that stops settles what still ends, claims nothing, and ends with the last outcome', async () => {
  const { dispatcher, statements, started } = startDispatcher();
  (await statements.next()).answer({ claimed: [claimedOf(), claimedOf()] });
  const [first, second] = [await started.next(), await started.next()];
  expect(dispatcher.mode).toBe('claiming');
  dispatcher.stopClaiming();
  expect(dispatcher.mode).toBe('draining');
  first.succeed();
  const one = await statements.next();
  expect(one.demand).toBeUndefined();
  one.answer();
  second.succeed();
  let finished = false;
  const over = dispatcher.finish(new Promise(() => undefined)).then(() => (finished = true));
  expect(dispatcher.mode).toBe('settling');
  // A detached worker is told so in this order.
  dispatcher.stopClaiming();
  expect(dispatcher.mode).toBe('settling');
  const two = await statements.next();
  expect(two).toMatchObject({ demand: undefined, completions: [{ id: second.claimed.id }] });
  await settleDown();
  expect(finished).toBe(false);
  two.answer();
  await over;
  expect(dispatcher.mode).toBe('ended');
});

test('a worker whose turn it is claims suspects alone, until none is left', async () => {
  const { dispatcher, statements, started } = startDispatcher({ attempts: suspects });
  expect(dispatcher.mode).toBe('claiming');
  (await statements.next()).answer({ claimed: [claimedOf()] });
  const neighbour = await started.next();
  await settleDown();
  expect([dispatcher.mode, statements.left]).toEqual(['alone', 0]);
  neighbour.succeed();
  const alone = await statements.next();
  expect(alone.completions).toMatchObject([{ id: neighbour.claimed.id }]);
  expect(alone.demand).toMatchObject({ routes: [{ route: '!t:a' }], total: 1 });
  alone.answer();
  expect((await statements.next()).demand).toMatchObject({ routes: [{ route: 'p' }, { route: 't:a' }] });
  expect(dispatcher.mode).toBe('claiming');
});

test('a worker that stops while it is alone goes on to its end', async () => {
  const { dispatcher, statements } = startDispatcher({ attempts: suspects });
  (await statements.next()).answer();
  await statements.next();
  expect(dispatcher.mode).toBe('alone');
  dispatcher.stopClaiming();
  await settleDown();
  expect(dispatcher.mode).toBe('draining');
});

test('a worker of one attempt claims no other, whoever rings, and records its outcome', async () => {
  const { dispatcher, statements, started, ring } = startDispatcher({ only: claimedOf() });
  expect(dispatcher.mode).toBe('draining');
  const only = await started.next();
  ring();
  await settleDown();
  expect(statements.left).toBe(0);
  only.succeed();
  const one = await statements.next();
  expect(one).toMatchObject({ demand: undefined, completions: [{ id: only.claimed.id }] });
  one.answer();
});

test('at the deadline a worker ends though a statement hangs', async () => {
  const { dispatcher, statements } = startDispatcher();
  await statements.next();
  dispatcher.stopClaiming();
  await expect(dispatcher.finish(Promise.resolve())).resolves.toBeUndefined();
  expect(dispatcher.mode).toBe('ended');
});

test('with two statements each claims its half of the slots, and together no more than there are', async () => {
  const { statements, started, state, ring } = startDispatcher({ concurrency: 4, parallel: 2 });
  const first = await statements.next();
  const second = await statements.next();
  expect([first.demand?.total, second.demand?.total]).toEqual([2, 2]);
  // Both answers come in one turn: neither loop may take the other's slots for free before its tasks run.
  ring();
  first.answer({ claimed: [claimedOf(), claimedOf()] });
  second.answer({ claimed: [claimedOf(), claimedOf()] });
  const running = [await started.next(), await started.next(), await started.next(), await started.next()];
  await settleDown();
  expect(statements.left).toBe(0);
  for (const one of running) one.succeed();
  const both = [await statements.next(), await statements.next()];
  expect(both.flatMap(({ completions }) => completions)).toHaveLength(4);
  expect(both.map(({ demand }) => demand?.total)).toEqual([2, 2]);
  expect(state.most).toBe(4);
});

test('a second statement waits for its way to be open, and no slot waits for it', async () => {
  const opened = deferred();
  let asked = 0;
  const { statements } = startDispatcher({
    concurrency: 4,
    parallel: 2,
    openAnother: () => ((asked += 1) === 1 ? opened.promise : undefined),
  });
  const first = await statements.next();
  await settleDown();
  expect(statements.left).toBe(0);
  first.answer({ claimed: [claimedOf(), claimedOf()] });
  const next = await statements.next();
  expect(next.demand?.total).toBe(2);
  await settleDown();
  expect(asked).toBe(1);
  opened.resolve();
  next.answer({ claimed: [claimedOf()] });
  expect((await statements.next()).demand?.total).toBe(1);
});

test('the second statement carries on while the first one fails', async () => {
  const { statements, started } = startDispatcher({ concurrency: 4, parallel: 2 });
  const [first, second] = [await statements.next(), await statements.next()];
  first.fail(new Error('no'));
  await settleDown();
  expect(statements.left).toBe(0);
  const claimed = claimedOf();
  second.answer({ claimed: [claimed] });
  expect((await started.next()).claimed).toBe(claimed);
  await passTime(1_000);
  expect((await statements.next()).demand?.total).toBe(2);
});

test.each<[string | undefined, boolean]>([
  ['t:a', true],
  ['t:a\u001fkey', true],
  ['t:buried', false],
  ['t:foreign', false],
  [undefined, false],
])('whether a ring for %j is of a route whose live tasks this worker serves: %j', (route, isServed) => {
  const { dispatcher } = startDispatcher({ handlers: { a: {} }, dead: ['buried'] });
  const ring = { later: false, halt: false, changed: false, dueMs: 1_000, highest: 50, route };
  expect(dispatcher.heard(ring)).toBe(isServed);
});
