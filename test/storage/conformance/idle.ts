import { expect } from 'vitest';
import {
  keyedRange,
  publicationRoute,
  routesAfter,
  subscriptionRoute,
  topicRoute,
} from '../../../lib/storage/route.js';
import type { AwaitedRoutes, RouteRange } from '../../../lib/storage/waiting-route.js';
import { failureOf } from '../../support/queue-storage.js';
import { contract } from './contract-test.js';
import { byText, claimAll, claimNew, insert, register, type OpenDatabase } from './opened.js';

const [a, b] = [topicRoute('a'), topicRoute('b')];
const ours: AwaitedRoutes = { ranges: [keyedRange(a)], deadRoutes: [a], unknown: [] };
const everyTopic = routesAfter('t:');
const hour = 3_600_000;

/** What every database promises of what idle workers ask: when the next attempt is due, and which routes wait. */
export function exerciseIdleLooks(open: OpenDatabase): void {
  contract('an idle worker is told when the next attempt is due that it serves', async () => {
    const { database } = await open();
    const { id } = await register(database);
    const ask = async (): Promise<number | undefined> =>
      (await database.attempts.nextDue(id, false, ours)).inMs;
    expect(await ask()).toBeUndefined();
    await insert(database, { topic: 'b' });
    expect(await ask()).toBeUndefined();
    await insert(database, { delayMs: hour });
    expect(await ask()).toBeGreaterThan(hour / 2);
    await insert(database);
    expect(await ask()).toBe(0);
  });

  contract('a worker that finds out what it serves is told the routes that wait', async () => {
    const { database } = await open();
    const { id } = await register(database);
    await insert(database, { topic: 'b' });
    const { inMs, pending } = await database.attempts.nextDue(id, false, {
      ...ours,
      unknown: [everyTopic],
    });
    expect({ inMs, pending }).toEqual({ inMs: undefined, pending: [b] });
    expect((await database.attempts.nextDue(id, false, ours)).pending).toEqual([]);
  });

  contract(
    'it is told whether the worker holds attempts, if it asks, and whether it was told to stop',
    async () => {
      const { database, halt } = await open();
      const [worker, other] = [await register(database), await register(database)];
      await claimNew(database, worker);
      const ask = async (id: string, asksHeld: boolean): Promise<readonly unknown[]> => {
        const { holding, halted } = await database.attempts.nextDue(id, asksHeld, ours);
        return [holding, halted];
      };
      expect(await ask(worker.id, true)).toEqual([true, false]);
      expect(await ask(worker.id, false)).toEqual([false, false]);
      expect(await ask(other.id, true)).toEqual([false, false]);
      await halt();
      expect(await ask(other.id, true)).toEqual([false, true]);
    },
  );

  contract('dead attempts are due for who handles them, and for everybody when nobody does', async () => {
    const { database, pause } = await open();
    const worker = await register(database, { deadRoutes: [b] });
    const { id } = await claimNew(database, worker, { topic: 'b' });
    await database.attempts.failMany([failureOf(id, worker.id, { next: { kind: 'never' } })]);
    const ask = async (deadRoutes: readonly string[]): Promise<number | undefined> =>
      (
        await database.attempts.nextDue(worker.id, false, {
          ...ours,
          ranges: [a, b].map(keyedRange),
          deadRoutes,
        })
      ).inMs;
    expect(await ask([b])).toBe(0);
    expect(await ask([a])).toBeUndefined();
    expect(await ask([topicRoute('*')])).toBe(0);
    await database.workers.retire(worker.id, 'stopped');
    expect(await ask([a])).toBe(0);
    await pause(b);
    expect(await ask([b])).toBeUndefined();
  });

  contract('dead deliveries are not for who takes every topic', async () => {
    const { database } = await open();
    const worker = await register(database, { deadRoutes: [subscriptionRoute('s')] });
    await database.subscriptions.declare([{ id: 's', topic: 'a' }]);
    await insert(database, {}, true);
    await database.attempts.fanOutMany(worker.id, await claimAll(worker, ['p']));
    const deliveries = await claimAll(worker, [subscriptionRoute('s')]);
    const failures = deliveries.map(({ id }) => failureOf(id, worker.id, { next: { kind: 'never' } }));
    expect(await database.attempts.failMany(failures)).toHaveLength(1);
    const ask = async (deadRoutes: readonly string[]): Promise<number | undefined> =>
      (await database.attempts.nextDue(worker.id, false, { ...ours, deadRoutes })).inMs;
    expect(await ask([topicRoute('*')])).toBeUndefined();
    expect(await ask([subscriptionRoute('s')])).toBe(0);
  });

  contract('routes with pending attempts are told with their best one, range by range', async () => {
    const { database } = await open();
    const worker = await register(database);
    await insert(database, { topic: 'b' });
    await insert(database, { topic: 'b', priority: 70 });
    await insert(database, { topic: 'b', priority: 60 });
    await insert(database, { topic: 'c' });
    await insert(database, {}, true);
    await insert(database, { topic: 'later', delayMs: hour });
    await claimNew(database, worker, { topic: 'claimed' });
    const c = topicRoute('c');
    const heads = async (limit: number, ...ranges: readonly RouteRange[]): Promise<readonly unknown[]> =>
      (await database.attempts.routeHeads(ranges, limit)).map(({ route, priority }) => [route, priority]);
    expect(await heads(10, everyTopic, keyedRange(publicationRoute))).toEqual([
      [b, 70],
      [c, 50],
      [publicationRoute, 50],
    ]);
    expect(await heads(2, everyTopic, keyedRange(publicationRoute))).toEqual([
      [b, 70],
      [c, 50],
    ]);
    expect(await heads(10, { from: b, below: c })).toEqual([[b, 70]]);
    expect(await heads(10, { from: c, below: everyTopic.below })).toEqual([[c, 50]]);
    const [head] = await database.attempts.routeHeads([keyedRange(c)], 1);
    expect(Math.abs((head?.dueMs ?? 0) - Date.now())).toBeLessThan(hour);
  });

  contract('routes wait whose attempts are due, unless they are paused', async () => {
    const { database, access, pause } = await open();
    expect(await database.attempts.pausedRoutes()).toEqual([]);
    for (const topic of ['a', 'b', 'c']) await insert(database, { topic, delayMs: 1_000 });
    await access.travel(11_000);
    await database.attempts.promote(10);
    await insert(database, { topic: 'd', delayMs: hour });
    const worker = await register(database, { routes: [a] });
    await pause(topicRoute('c'));
    const waiting = await database.attempts.waitingRoutes();
    const told = waiting.map(({ route, served, workerless }) => [route, served, workerless]);
    expect(told.toSorted(byText)).toEqual([
      [a, true, false],
      [b, false, false],
    ]);
    expect(Math.min(...waiting.map(({ waitingMs }) => waitingMs))).toBeGreaterThanOrEqual(10_000);
    expect(await database.attempts.pausedRoutes()).toEqual([topicRoute('c')]);
    await database.workers.confirmLost([worker.id], 0);
    const missed = await database.attempts.waitingRoutes();
    expect(missed.map(({ served, workerless }) => [served, workerless])).toEqual([
      [false, true],
      [false, true],
    ]);
  });

  contract(
    'deliveries are served by who delivers webhooks, unless their subscription has no URL',
    async () => {
      const { database } = await open();
      const worker = await register(database, { routes: ['w', topicRoute('*')] });
      const unset = { tenant: null, group: null, httpMethod: null, headers: null, active: true };
      await database.subscriptions.add({ ...unset, id: 'hook', topic: 'a', url: 'https://example.com' });
      await database.subscriptions.add({ ...unset, id: 'code', topic: 'a', url: null });
      await insert(database, {}, true);
      const claimed = await claimAll(worker, [publicationRoute]);
      await database.attempts.fanOutMany(worker.id, claimed);
      await insert(database);
      const waiting = await database.attempts.waitingRoutes();
      expect(waiting.map(({ route, served }) => [route, served]).toSorted(byText)).toEqual([
        [subscriptionRoute('code'), false],
        [subscriptionRoute('hook'), true],
        [a, true],
      ]);
    },
  );
}
