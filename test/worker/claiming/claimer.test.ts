import { expect, test } from 'vitest';
import type { ErrorKind } from '../../../lib/storage/error-kind.js';
import { claimedOf, passTime, settleDown, startDispatcher, useDispatchers } from '../dispatcher-bench.js';

useDispatchers();

test('a handler at its own limit is left out, and claimed for again when one of its attempts ends', async () => {
  const { statements, started, ring } = startDispatcher({
    concurrency: 5,
    handlers: { a: {}, b: { concurrency: 1 } },
  });
  const first = await statements.next();
  expect(first.demand?.routes).toContainEqual({ route: 't:b', limit: 1, only: 'live' });
  first.answer({ claimed: [claimedOf('t:b')] });
  const running = await started.next();
  ring();
  const second = await statements.next();
  expect(second.demand?.routes.map(({ route }) => route)).toEqual(['p', 't:a']);
  second.answer();
  await settleDown();
  running.succeed();
  expect((await statements.next()).demand?.routes.map(({ route }) => route)).toEqual(['p', 't:a', 't:b']);
});

test('a claim that a limit has ended, and nothing else, is not followed by one for nothing', async () => {
  const { statements, started } = startDispatcher({
    concurrency: 5,
    handlers: { a: {}, b: { concurrency: 1 } },
  });
  (await statements.next()).answer({ claimed: [claimedOf('t:b')] });
  const running = await started.next();
  await settleDown();
  expect(statements.left).toBe(0);
  running.succeed();
  expect(await statements.next()).toMatchObject({ completions: [{}], demand: { total: 5 } });
});

test('a ring while a claim is under way that a limit ends leads to another one', async () => {
  const { statements, ring } = startDispatcher({
    concurrency: 5,
    handlers: { a: {}, b: { concurrency: 1 } },
  });
  const first = await statements.next();
  ring();
  first.answer({ claimed: [claimedOf('t:b')] });
  expect((await statements.next()).demand?.routes.map(({ route }) => route)).toEqual(['p', 't:a']);
});

test('a claim that has not seen all is made again, whatever limit it has met', async () => {
  const { statements } = startDispatcher({
    concurrency: 5,
    handlers: { a: {}, b: { concurrency: 1 } },
  });
  (await statements.next()).answer({ claimed: [claimedOf('t:b')], isCut: true });
  expect((await statements.next()).demand?.routes.map(({ route }) => route)).toEqual(['p', 't:a']);
});

test('of each route only those attempts are asked for that have a handler here', async () => {
  const { statements } = startDispatcher({ handlers: { a: {}, both: {} }, dead: ['both', 'buried'] });
  const { demand } = await statements.next();
  expect(demand?.routes.map(({ route, only }) => [route, only])).toEqual([
    ['p', 'live'],
    ['t:a', 'live'],
    ['t:both', undefined],
    ['t:buried', 'dead'],
  ]);
});

test('routes that gave nothing because they are blocked are left out of the next claim, and of no other', async () => {
  const { statements, ring } = startDispatcher({ handlers: { a: {}, b: {} } });
  const routes = async (): Promise<readonly string[] | undefined> => {
    const { demand, answer } = await statements.next();
    answer();
    return demand?.routes.map(({ route }) => route);
  };
  (await statements.next()).answer({ blockedRoutes: ['t:a'], claimAgain: true });
  expect(await routes()).toEqual(['p', 't:b']);
  ring();
  expect(await routes()).toEqual(['p', 't:a', 't:b']);
});

test('routes that are blocked beside others that gave something stay in their place', async () => {
  const { statements } = startDispatcher({ handlers: { a: {}, b: {} } });
  (await statements.next()).answer({
    claimed: [claimedOf('t:b')],
    blockedRoutes: ['t:a'],
    claimAgain: true,
  });
  expect((await statements.next()).demand?.routes.map(({ route }) => route)).toEqual(['p', 't:a', 't:b']);
});

test('what a claim could not see is claimed later, though nobody rings', async () => {
  const { statements } = startDispatcher();
  (await statements.next()).answer({ lookAgainInMs: 5_000 });
  await passTime(4_000);
  expect(statements.left).toBe(0);
  await passTime(1_000);
  expect((await statements.next()).demand?.total).toBe(2);
});

test('after a task a worker looks again, for commits whose ring came too early', async () => {
  const { statements, started } = startDispatcher();
  (await statements.next()).answer({ claimed: [claimedOf()] });
  const running = await started.next();
  (await statements.next()).answer();
  running.succeed();
  (await statements.next()).answer();
  await settleDown();
  expect(statements.left).toBe(0);
  await passTime(50);
  expect((await statements.next()).completions).toEqual([]);
});

test('in fair order the slots are divided among the routes that had work, after a probe of each other one', async () => {
  const { statements, started, ring } = startDispatcher({
    concurrency: 6,
    order: 'fair',
    handlers: { a: {}, b: {} },
  });
  (await statements.next()).answer({ claimed: [claimedOf('t:a'), claimedOf('t:b')] });
  const { demand, answer } = await statements.next();
  expect(demand?.order).toBe('listed');
  expect(demand?.total).toBe(4);
  expect(demand?.routes).toEqual([
    { route: 'p', limit: 1, only: 'live' },
    { route: expect.any(String), limit: 2, only: 'live' },
    { route: expect.any(String), limit: 2, only: 'live' },
  ]);
  answer();
  await Promise.all([started.next(), started.next()]);
  // Nothing had work: each is probed for its part.
  ring();
  expect((await statements.next()).demand?.routes.map(({ limit }) => limit)).toEqual([1, 1, 1]);
});

test('a refused outcome fails its own attempt; those beside it are settled one by one', async () => {
  const kinds = new Map<unknown, ErrorKind>();
  const refusal = new Error('a trigger says no');
  kinds.set(refusal, 'row');
  const { statements, started, failed } = startDispatcher({
    classify: (error) => kinds.get(error) ?? 'other',
  });
  (await statements.next()).answer({ claimed: [claimedOf(), claimedOf()] });
  const both = [await started.next(), await started.next()];
  for (const one of both) one.succeed();
  (await statements.next()).fail(refusal);
  const [first, second] = both.map(({ claimed }) => claimed.id);
  const one = await statements.next();
  expect(one).toMatchObject({ demand: undefined, completions: [{ id: first }] });
  one.fail(refusal);
  const two = await statements.next();
  expect(two).toMatchObject({ demand: undefined, completions: [{ id: second }] });
  two.answer();
  const next = await statements.next();
  expect(next).toMatchObject({ completions: [], demand: { total: 2 } });
  expect(failed.mock.calls).toEqual([[both[0]?.claimed, refusal]]);
});

test('bytes that are not text are looked for among what the claim asked, and then it is made again at once', async () => {
  const unsendable = new Error('invalid byte sequence');
  const { statements, claims, events } = startDispatcher({
    classify: (error) => (error === unsendable ? 'value' : 'other'),
  });
  let failing = 0;
  events.on('worker.error', () => (failing += 1));
  const first = await statements.next();
  first.fail(unsendable);
  expect((await statements.next()).demand).toEqual(first.demand);
  expect(claims.endUnreadable.mock.calls).toEqual([[first.demand]]);
  expect(failing).toBe(0);
});
