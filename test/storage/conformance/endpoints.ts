import { expect } from 'vitest';
import { BulkRun } from '../../../lib/admin/bulk-run.js';
import { QueueEvents } from '../../../lib/events.js';
import type { QueueDatabase } from '../../../lib/storage/database.js';
import type { RestRules } from '../../../lib/storage/endpoints.js';
import { publicationRoute, subscriptionRoute, topicRoute } from '../../../lib/storage/route.js';
import { greatestId } from '../../../lib/values/attempt-id.js';
import { failureOf } from '../../support/queue-storage.js';
import { contract } from './contract-test.js';
import { byText, claimAll, endBadly, idsOf, insert, read, register, type OpenDatabase } from './opened.js';

const page = { greatest: greatestId, limit: 100, payload: false };
const url = 'https://example.com/hook';
const route = subscriptionRoute('hook');
const minute = 60_000;
const rules: RestRules = { failures: 2, restMs: minute, longestRestMs: 3 * minute };

/** What every database promises of `EndpointStore`. */
export function exerciseEndpoints(open: OpenDatabase): void {
  async function addHook(database: QueueDatabase, id = 'hook', changes: object = {}): Promise<void> {
    const unset = { tenant: null, group: null, httpMethod: null, headers: null, active: true };
    await database.subscriptions.add({ ...unset, id, topic: 'a', url, ...changes });
  }

  async function fail(database: QueueDatabase, times: number): Promise<void> {
    for (let n = 0; n < times; n += 1) await database.endpoints.noteFailure('hook', 0, rules);
  }

  /** Tries again what failed for good since then, as the webhooks' service does. */
  async function replay(database: QueueDatabase, since: Date): Promise<number> {
    const cancellation = { by: null, message: '' };
    const run = new BulkRun('retry', database.admin, cancellation, new QueueEvents());
    let replayed = 0;
    for await (const some of run.run(await run.plan({ subscriptionId: 'hook', since, dead: false }))) {
      replayed += some;
    }
    return replayed;
  }

  contract('an endpoint rests after its failures in a row, longer each time', async () => {
    const { database } = await open();
    await addHook(database);
    const { endpoints } = database;
    const noted = [];
    for (let n = 0; n < 4; n += 1) {
      const { failures, opened, restsForMs } = await endpoints.noteFailure('hook', 0, rules);
      // The time it takes to write is not what this is about.
      noted.push([failures, opened, Math.round(restsForMs / minute)]);
      await endpoints.pausedRoutes(minute, rules.longestRestMs);
    }
    // A request that took no time began within the rest, and none before it.
    expect(noted.slice(0, 2)).toEqual([
      [1, false, 0],
      [2, true, 1],
    ]);
    expect(await endpoints.find('hook')).toMatchObject({
      restsUntil: expect.any(Date),
      failingSince: expect.any(Date),
    });
  });

  contract('a request that began before the rest neither counts nor ends it', async () => {
    const { database } = await open();
    await addHook(database);
    await fail(database, 2);
    const late = await database.endpoints.noteFailure('hook', 10 * minute, rules);
    expect(late).toMatchObject({ failures: 2, opened: false });
    expect(late.restsForMs).toBeGreaterThan(0);
  });

  contract('a rest that began before the clock was set back is over, and so is a turn to probe', async () => {
    const { database, setClockBack } = await open();
    await addHook(database);
    await fail(database, 2);
    const { endpoints } = database;
    expect(await endpoints.pausedRoutes(minute, rules.longestRestMs)).toHaveLength(1);
    for (let times = 0; times < 2; times += 1) {
      await setClockBack(60 * minute);
      expect(await endpoints.pausedRoutes(minute, rules.longestRestMs)).toEqual([]);
      const [hold] = await endpoints.pausedRoutes(minute, rules.longestRestMs);
      expect(hold?.forMs).toBeGreaterThan(0);
      expect(hold?.forMs).toBeLessThanOrEqual(minute);
    }
    expect((await endpoints.find('hook'))?.restsUntil).toBeNull();
  });

  contract('a failure counts whose endpoint began to rest before the clock was set back', async () => {
    const { database, setClockBack } = await open();
    await addHook(database);
    await fail(database, 2);
    await setClockBack(60 * minute);
    const noted = await database.endpoints.noteFailure('hook', 0, rules);
    expect(noted).toMatchObject({ failures: 3, opened: true });
    expect(noted.restsForMs).toBeLessThanOrEqual(rules.longestRestMs);
    expect(noted.failingForMs).toBeGreaterThanOrEqual(0);
    await setClockBack(60 * minute);
    const unlimited = { ...rules, failures: null };
    expect((await database.endpoints.noteFailure('hook', 0, unlimited)).restsForMs).toBe(0);
  });

  contract('a success is written though the last one was before the clock was set back', async () => {
    const { database, setClockBack } = await open();
    await addHook(database);
    await database.endpoints.noteSuccess('hook', minute);
    const before = (await database.endpoints.find('hook'))?.lastSuccessAt;
    await setClockBack(60 * minute);
    await database.endpoints.noteSuccess('hook', minute);
    const after = (await database.endpoints.find('hook'))?.lastSuccessAt;
    expect(Number(after)).toBeGreaterThanOrEqual(Number(before));
    expect(Number(after)).toBeLessThan(Number(before) + 59 * minute);
  });

  contract('an endpoint without a limit of failures never rests', async () => {
    const { database } = await open();
    await addHook(database);
    const unlimited = { ...rules, failures: null };
    for (let n = 0; n < 3; n += 1) await database.endpoints.noteFailure('hook', 0, unlimited);
    expect(await database.endpoints.find('hook')).toMatchObject({ failures: 3, restsUntil: null });
  });

  contract('a success ends a rest and forgets the failures', async () => {
    const { database } = await open();
    await addHook(database);
    expect(await database.endpoints.noteSuccess('hook', minute)).toBe(false);
    await fail(database, 2);
    expect(await database.endpoints.noteSuccess('hook', minute)).toBe(true);
    expect(await database.endpoints.find('hook')).toMatchObject({
      failures: 0,
      failingSince: null,
      restsUntil: null,
      lastSuccessAt: expect.any(Date),
    });
    expect(await database.endpoints.pausedRoutes(minute, rules.longestRestMs)).toEqual([]);
  });

  contract('successes in a row are written once per interval', async () => {
    const { database } = await open();
    await addHook(database);
    await database.endpoints.noteSuccess('hook', minute);
    const before = await database.endpoints.find('hook');
    await database.endpoints.noteSuccess('hook', minute);
    expect((await database.endpoints.find('hook'))?.lastSuccessAt).toEqual(before?.lastSuccessAt);
  });

  contract('when a rest begins, what is due moves to its end without an attempt', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    await addHook(database);
    await insert(database, {}, true);
    await database.attempts.fanOutMany(worker.id, await claimAll(worker, [publicationRoute]));
    const other = await insert(database);
    await fail(database, 2);
    expect(await claimAll(worker, [route])).toEqual([]);
    const restsUntil = (await database.endpoints.find('hook'))?.restsUntil;
    const { nextDueInMs } = await database.attempts.promote(10);
    expect(nextDueInMs).toBeGreaterThan(minute / 2);
    expect((await read(access, other)).status).toBe('pending');
    await access.travel(2 * minute);
    await database.attempts.promote(10);
    const [moved] = await claimAll(worker, [route]);
    expect(moved?.task.attempt).toBe(1);
    expect(restsUntil).toBeInstanceOf(Date);
  });

  contract('deliveries wait of resting endpoints, inactive subscriptions and paused routes', async () => {
    const { database, pause } = await open();
    await addHook(database);
    await addHook(database, 'inactive', { active: false });
    await addHook(database, 'code', { active: false, url: null });
    await addHook(database, 'fine');
    await fail(database, 2);
    await pause(topicRoute('paused'));
    const paused = await database.endpoints.pausedRoutes(minute, rules.longestRestMs);
    const told = paused.map((hold) => [hold.route, hold.forMs === undefined]);
    expect(told.toSorted(byText)).toEqual([
      [route, false],
      [subscriptionRoute('inactive'), true],
      [topicRoute('paused'), true],
    ]);
  });

  contract('after a rest one caller gets the turn to probe', async () => {
    const { database } = await open();
    await addHook(database);
    const short = { ...rules, restMs: 0 };
    for (let n = 0; n < 2; n += 1) await database.endpoints.noteFailure('hook', 0, short);
    expect(await database.endpoints.pausedRoutes(minute, rules.longestRestMs)).toEqual([]);
    const [hold] = await database.endpoints.pausedRoutes(minute, rules.longestRestMs);
    expect(hold?.route).toBe(route);
    expect(hold?.forMs).toBeGreaterThan(minute / 2);
  });

  contract(
    'a subscription is taken out of service once, and not when it leads elsewhere by now',
    async () => {
      const { database } = await open();
      await addHook(database);
      const { endpoints } = database;
      expect(await endpoints.deactivate('hook', 'gone', 'https://example.com/other')).toBe(false);
      expect(await endpoints.deactivate('hook', 'gone', url)).toBe(true);
      expect(await endpoints.deactivate('hook', 'gone')).toBe(false);
      expect(await endpoints.find('hook')).toMatchObject({
        active: false,
        deactivatedFor: 'gone',
        deactivatedAt: expect.any(Date),
      });
      expect((await database.subscriptions.find('hook'))?.active).toBe(false);
    },
  );

  contract('an endpoint that is put back into service has no past', async () => {
    const { database } = await open();
    await addHook(database);
    const { endpoints } = database;
    await fail(database, 2);
    await endpoints.deactivate('hook', 'gone');
    expect(await endpoints.reactivate('hook')).toBe(true);
    expect(await endpoints.find('hook')).toMatchObject({
      active: true,
      failures: 0,
      restsUntil: null,
      deactivatedAt: null,
      deactivatedFor: null,
    });
    expect(await endpoints.reactivate('nobody')).toBe(false);
  });

  contract('endpoints in trouble are those that rest, and those that were taken out of service', async () => {
    const { database } = await open();
    for (const id of ['hook', 'gone', 'fine']) await addHook(database, id);
    const { endpoints } = database;
    await fail(database, 2);
    await endpoints.deactivate('gone', 'it said 410');
    await endpoints.noteFailure('fine', 0, rules);
    const found = await endpoints.failing(10);
    expect(
      found?.map(({ subscriptionId, deactivatedFor }) => [subscriptionId, deactivatedFor]).toSorted(byText),
    ).toEqual([
      ['gone', 'it said 410'],
      ['hook', null],
    ]);
    expect(await endpoints.failing(1)).toHaveLength(1);
    expect((await endpoints.list())?.map(({ subscriptionId }) => subscriptionId).toSorted(byText)).toEqual([
      'fine',
      'gone',
      'hook',
    ]);
  });

  contract('an address and whether there is one are read of the subscription', async () => {
    const { database } = await open();
    await addHook(database, 'hook', { httpMethod: 'PUT', headers: { 'x-one': '1' } });
    await addHook(database, 'code', { url: null });
    const { endpoints } = database;
    const address = { url, httpMethod: 'PUT', headers: { 'x-one': '1' } };
    expect(await endpoints.address('hook')).toEqual(address);
    expect(await endpoints.find('hook')).toMatchObject({ ...address, subscriptionId: 'hook', failures: 0 });
    expect(await endpoints.address('nobody')).toBeUndefined();
    expect(await endpoints.find('nobody')).toBeUndefined();
    expect([...(await endpoints.haveUrls(['hook', 'code', 'nobody']))].toSorted(byText)).toEqual([
      ['code', false],
      ['hook', true],
    ]);
  });

  contract('failed deliveries are tried again, dead ones excepted', async () => {
    const { database } = await open();
    const worker = await register(database);
    await addHook(database);
    for (let n = 0; n < 3; n += 1) await insert(database, { payload: `${n}` }, true);
    await database.attempts.fanOutMany(worker.id, await claimAll(worker, [publicationRoute]));
    const deliveries = await claimAll(worker, [route]);
    const never = { kind: 'never' } as const;
    await database.attempts.failMany(deliveries.map(({ id }) => failureOf(id, worker.id, { next: never })));
    const dead = await claimAll(worker, [route]);
    await database.attempts.failMany(dead.map(({ id }) => failureOf(id, worker.id, { next: never })));
    expect(await replay(database, new Date(Date.now() + minute))).toBe(0);
    expect(await replay(database, new Date(0))).toBe(3);
    expect(await replay(database, new Date(0))).toBe(0);
    const again = await claimAll(worker, [route]);
    expect(again.map(({ task }) => [task.attempt, task.dead])).toEqual([
      [1, false],
      [1, false],
      [1, false],
    ]);
    expect(again.map(({ payload }) => payload).toSorted(byText)).toEqual(
      deliveries.map(({ payload }) => payload).toSorted(byText),
    );
    expect(idsOf(again)).not.toEqual(idsOf(deliveries));
  });

  contract('deliveries that were cancelled are not tried again with those that failed', async () => {
    const { database } = await open();
    const worker = await register(database);
    await addHook(database);
    for (let n = 0; n < 2; n += 1) await insert(database, { payload: `${n}` }, true);
    await database.attempts.fanOutMany(worker.id, await claimAll(worker, [publicationRoute]));
    const [cancelled, failed] = await database.admin.list({ subscriptionId: 'hook' }, page);
    await database.admin.cancel({ ids: [cancelled?.id ?? ''] }, { by: null, message: 'off' });
    for (const claimed of await claimAll(worker, [route])) await endBadly(database, worker, claimed);
    expect(await replay(database, new Date(0))).toBe(1);
    const standing = await database.admin.list({ subscriptionId: 'hook', latest: true, dead: false }, page);
    expect(standing.map(({ firstAttemptId, status }) => [firstAttemptId, status])).toEqual([
      [failed?.id, 'pending'],
      [cancelled?.id, 'cancelled'],
    ]);
  });

  contract('the newest secret signs first, the others for as long as they are given', async () => {
    const { database } = await open();
    await addHook(database);
    const { endpoints } = database;
    const secret = (name: string) => ({ secret: name, origin: 'https://example.com' });
    expect(await endpoints.isSigned('hook')).toBe(false);
    await endpoints.addSecret('hook', secret('one'), minute);
    await endpoints.addSecret('hook', secret('two'), minute);
    expect((await endpoints.secrets('hook')).map((one) => one.secret)).toEqual(['two', 'one']);
    await endpoints.addSecret('hook', secret('three'), -minute);
    expect(await endpoints.secrets('hook')).toEqual([secret('three')]);
    expect(await endpoints.isSigned('hook')).toBe(true);
    expect((await endpoints.find('hook'))?.signed).toBe(true);
  });

  contract('an endpoint that moves gets a secret for its new origin, and an unsigned one none', async () => {
    const { database } = await open();
    await addHook(database);
    const { endpoints } = database;
    const [from, to] = ['https://example.com', 'https://example.org'];
    await endpoints.moveSecrets('hook', from, { secret: 'new', origin: to });
    expect(await endpoints.isSigned('hook')).toBe(false);
    await endpoints.addSecret('hook', { secret: 'old', origin: null }, 0);
    expect(await endpoints.secrets('hook')).toEqual([{ secret: 'old', origin: url }]);
    const moved = [
      { secret: 'new', origin: to },
      { secret: 'old', origin: from },
    ];
    await endpoints.moveSecrets('hook', from, { secret: 'new', origin: to });
    expect(await endpoints.secrets('hook')).toEqual(moved);
    await endpoints.moveSecrets('hook', from, { secret: 'newer', origin: to });
    expect(await endpoints.secrets('hook')).toEqual(moved);
  });

  contract('a forgotten endpoint has neither failures nor secrets', async () => {
    const { database } = await open();
    await addHook(database);
    const { endpoints } = database;
    await fail(database, 2);
    await endpoints.addSecret('hook', { secret: 'one', origin: null }, 0);
    await endpoints.forget('hook');
    expect(await endpoints.isSigned('hook')).toBe(false);
    expect(await endpoints.find('hook')).toMatchObject({ failures: 0, restsUntil: null, signed: false });
  });
}
