import { expect } from 'vitest';
import { isolatedRoute, subscriptionRoute, topicRoute } from '../../../lib/storage/route.js';
import { failureOf } from '../../support/queue-storage.js';
import { contract, contractOfEach } from './contract-test.js';
import {
  byText,
  claimAll,
  claimNew,
  complete,
  completionOf,
  demandFor,
  idsOf,
  insert,
  read,
  register,
  wrongClaims,
  type OpenDatabase,
} from './opened.js';

const [a, b] = [topicRoute('a'), topicRoute('b')];
const never = { kind: 'never' } as const;

/** What every database promises of `Claims`. */
export function exerciseClaims(open: OpenDatabase): void {
  contract(
    'the highest priority is claimed first, then what was due first, then what was inserted first',
    async () => {
      const { database } = await open();
      const dueAt = new Date(Date.now() - 60_000).toISOString();
      const later = await insert(database, { runAt: new Date(Date.now() - 30_000) });
      const [first, second] = [
        await insert(database, { runAt: dueAt }),
        await insert(database, { runAt: dueAt }),
      ];
      const urgent = await insert(database, { priority: 90 });
      const patient = await insert(database, { priority: 10, runAt: dueAt });
      const { claims } = await register(database);
      const claimed: string[] = [];
      for (const limit of [2, 1, 2]) {
        const demand = { routes: [{ route: a, limit }], total: limit, order: 'age' } as const;
        claimed.push(...idsOf((await claims.settleAndClaim([], demand)).claimed));
      }
      expect(claimed).toEqual([urgent, first, second, later, patient]);
    },
  );

  contract('a route gives no more than its limit, and all routes together give the best', async () => {
    const { database } = await open();
    const first = await insert(database, { topic: 'a', priority: 90 });
    await insert(database, { topic: 'a', priority: 80 });
    const second = await insert(database, { topic: 'b', priority: 70 });
    await insert(database, { topic: 'b', priority: 60 });
    const { claims } = await register(database);
    const routes = [
      { route: b, limit: 2 },
      { route: a, limit: 1 },
    ];
    const { claimed } = await claims.settleAndClaim([], { routes, total: 2, order: 'age' });
    expect(idsOf(claimed)).toEqual([first, second]);
  });

  contract(
    'listed routes give their best in the order of the list, whatever priority waits behind',
    async () => {
      const { database } = await open();
      await insert(database, { topic: 'a', priority: 90 });
      const [first, second] = [
        await insert(database, { topic: 'b', priority: 20 }),
        await insert(database, { topic: 'b', priority: 10 }),
      ];
      const { claims } = await register(database);
      const { claimed } = await claims.settleAndClaim(
        [],
        demandFor(['b', 'a'], { total: 2, order: 'listed' }),
      );
      expect(idsOf(claimed)).toEqual([first, second]);
    },
  );

  contract('only what is due and pending is claimed, and each attempt by one worker', async () => {
    const { database } = await open();
    await insert(database, { delayMs: 60_000 });
    const ids = [await insert(database), await insert(database), await insert(database)];
    const workers = [await register(database), await register(database)];
    const both = await Promise.all(
      workers.map(({ claims }) => claims.settleAndClaim([], demandFor(['a'], { total: 2 }))),
    );
    const rest = await claimAll(await register(database));
    const all = [...both.flatMap(({ claimed }) => claimed), ...rest];
    expect(idsOf(all).toSorted(byText)).toEqual(ids.toSorted(byText));
  });

  contract('a pending attempt whose time has not come waits for it', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    await insert(database);
    await access.travel(-3_600_000);
    expect(await claimAll(worker)).toEqual([]);
    expect(await worker.claims.wouldClaim([{ route: a, limit: 1 }])).toBe(false);
    expect(await database.attempts.waitingRoutes()).toEqual([]);
    await access.travel(3_600_000);
    expect(await claimAll(worker)).toHaveLength(1);
  });

  contract('without a demand nothing is claimed', async () => {
    const { database } = await open();
    const worker = await register(database);
    const claimed = await claimNew(database, worker);
    await insert(database);
    const answer = await worker.claims.settleAndClaim([completionOf(claimed)]);
    expect(answer).toMatchObject({ settledOnly: undefined, claimed: [] });
    expect(await claimAll(worker)).toHaveLength(1);
  });

  contract(
    'a claim carries its task, its payload and a reservation that no claim before it had',
    async () => {
      const { database } = await open();
      const worker = await register(database);
      const input = { payload: { id: 1 }, externalKey: 'one', tenant: 7, group: 'g', metadata: { by: 'me' } };
      const { id, task, payload, reservation, route, publication, losses } = await claimNew(
        database,
        worker,
        input,
      );
      expect(task).toMatchObject({
        id,
        attempt: 1,
        topic: 'a',
        externalKey: 'one',
        tenant: '7',
        group: 'g',
        metadata: { by: 'me' },
        priority: 50,
        dead: false,
      });
      expect({ payload, route, publication, losses }).toEqual({
        payload: '{"id":1}',
        route: a,
        publication: false,
        losses: 0,
      });
      await database.attempts.releaseMany(worker.id, [{ id, reservation }]);
      const [again] = await claimAll(await register(database));
      expect(again?.reservation).toBeGreaterThan(reservation);
    },
  );

  contract('a large payload comes along, or is told by its size and read afterwards', async () => {
    const { database } = await open();
    const text = 'x'.repeat(100_000);
    const { id, payload, payloadBytes } = await claimNew(database, await register(database), {
      payload: text,
    });
    expect(payloadBytes).toBe(payload === undefined ? text.length : null);
    expect(payload ?? (await database.attempts.loadPayload(id))).toBe(text);
  });

  contract('later attempts and the dead chain have the payload and the key of the first', async () => {
    const { database } = await open();
    const worker = await register(database);
    const first = await claimNew(database, worker, { payload: { id: 1 } });
    const next = { kind: 'after-failure', delayMs: 0 } as const;
    await database.attempts.failMany([failureOf(first.id, worker.id, { next })]);
    await database.attempts.promote(10);
    const [second] = await claimAll(worker);
    if (!second) throw new Error('there is no second attempt');
    await database.attempts.failMany([failureOf(second.id, worker.id, { next: never })]);
    const [dead] = await claimAll(worker);
    expect([second.task.attempt, dead?.task.attempt]).toEqual([2, 1]);
    expect(dead?.task).toMatchObject({ dead: true, liveId: first.id });
    expect([second.payload, dead?.payload]).toEqual(['{"id":1}', '{"id":1}']);
    expect([second.task.key, dead?.task.key]).toEqual([first.task.key, first.task.key]);
  });

  contract('of a route only live or only dead attempts are claimed when that is asked', async () => {
    const { database } = await open();
    const worker = await register(database);
    const buried = await claimNew(database, worker);
    const [outcome] = await database.attempts.failMany([failureOf(buried.id, worker.id, { next: never })]);
    const live = await insert(database);
    const claimOnly = async (only: 'live' | 'dead'): Promise<readonly string[]> => {
      const routes = [{ route: a, limit: 10, only }];
      worker.claims.invalidate();
      expect(await worker.claims.wouldClaim(routes)).toBe(true);
      const { claimed } = await worker.claims.settleAndClaim([], { routes, total: 10, order: 'age' });
      expect(await worker.claims.wouldClaim(routes)).toBe(false);
      return idsOf(claimed);
    };
    expect(await claimOnly('dead')).toEqual([outcome?.deadId]);
    expect(await claimOnly('live')).toEqual([live]);
  });

  contract('it is told whether a claim would find something, without claiming it', async () => {
    const { database } = await open();
    const { claims } = await register(database);
    await insert(database, { topic: 'b' });
    await insert(database, { delayMs: 60_000 });
    expect(await claims.wouldClaim([{ route: a, limit: 1 }])).toBe(false);
    expect(await claims.wouldClaim([a, b].map((route) => ({ route, limit: 1 })))).toBe(true);
    expect((await claims.settleAndClaim([], demandFor(['b']))).claimed).toHaveLength(1);
  });

  contract('completions are written before the next claim, with their message and result', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    const claimed = await claimNew(database, worker);
    await insert(database);
    const answer = await worker.claims.settleAndClaim([completionOf(claimed, '{"n":1}')], demandFor(['a']));
    expect(answer.settledOnly).toBeUndefined();
    expect(answer.claimed).toHaveLength(1);
    expect(await read(access, claimed.id)).toMatchObject({
      status: 'succeeded',
      message: 'completed',
      result: '{"n":1}',
      finishedAt: expect.any(Date),
    });
  });

  contractOfEach(wrongClaims, ({ name }) => name)(
    '%s completes nothing, and is absent from the answer',
    async (wrong) => {
      const { database, access } = await open();
      const [holder, other] = [await register(database), await register(database)];
      const claimed = await claimNew(database, holder);
      const { claim, workerId } = wrong.of(claimed, holder.id, other.id);
      const { claims } = workerId === holder.id ? holder : other;
      for (const demand of [undefined, demandFor(['none'])]) {
        const { settledOnly } = await claims.settleAndClaim([completionOf(claim)], demand);
        expect(settledOnly).toEqual([]);
      }
      expect(await read(access, claimed.id)).toMatchObject({ status: 'processing', message: null });
    },
  );

  contract('of completions of which some are lost, the others are written', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    const [lost, kept] = [await claimNew(database, worker), await claimNew(database, worker)];
    await database.attempts.releaseMany(worker.id, [lost]);
    const { settledOnly } = await worker.claims.settleAndClaim([lost, kept].map((one) => completionOf(one)));
    expect(settledOnly).toEqual([kept.id]);
    expect((await read(access, lost.id)).status).toBe('pending');
    expect((await read(access, kept.id)).status).toBe('succeeded');
  });

  contract('what has ended is not completed again', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    const claimed = await claimNew(database, worker);
    await database.attempts.failMany([failureOf(claimed.id, worker.id)]);
    for (const demand of [undefined, demandFor(['none'])]) {
      const { settledOnly } = await worker.claims.settleAndClaim([completionOf(claimed)], demand);
      expect(settledOnly).toEqual([]);
    }
    expect((await read(access, claimed.id)).status).toBe('failed');
  });

  contract('an attempt goes a route of its own once two workers in a row were lost with it', async () => {
    const { database } = await open();
    const worker = await register(database);
    await insert(database);
    for (const losses of [0, 1]) {
      const [claimed] = await claimAll(worker);
      expect(claimed?.losses).toBe(losses);
      const { id = '', reservation = 0 } = claimed ?? {};
      const failure = failureOf(id, worker.id, { reservation, losses, lost: true });
      await database.attempts.failMany([failure]);
      await database.attempts.promote(10);
    }
    expect(await claimAll(worker)).toEqual([]);
    const [isolated] = await claimAll(worker, [isolatedRoute(a)]);
    expect(isolated).toMatchObject({ route: a, losses: 2 });
  });

  contract(
    'dead attempts are unattended while no running worker handles them, and nobody has paused them',
    async () => {
      const { database, pause } = await open();
      const worker = await register(database);
      for (const topic of ['a', 'b', 'c']) {
        const { id } = await claimNew(database, worker, { topic });
        await database.attempts.failMany([failureOf(id, worker.id, { next: never })]);
      }
      const announced = await register(database, { deadRoutes: [b] });
      await pause(topicRoute('c'));
      const claimed = await worker.claims.claimUnattended(10);
      expect(claimed.map(({ route }) => route)).toEqual([a]);
      await database.workers.retire(announced.id, 'stopped');
      expect(await worker.claims.claimUnattended(0)).toEqual([]);
      expect((await worker.claims.claimUnattended(10)).map(({ task }) => task.topic)).toEqual(['b']);
    },
  );

  contract('a worker of every topic attends to dead tasks, not to dead deliveries', async () => {
    const { database } = await open();
    const worker = await register(database);
    await database.subscriptions.declare([{ id: 's', topic: 'a' }]);
    await insert(database, {}, true);
    const [publication] = await claimAll(worker, ['p']);
    if (publication) await database.attempts.fanOutMany(worker.id, [publication]);
    await insert(database);
    const live = await claimAll(worker, [a, subscriptionRoute('s')]);
    await database.attempts.failMany(live.map(({ id }) => failureOf(id, worker.id, { next: never })));
    await register(database, { deadRoutes: [topicRoute('*')] });
    const claimed = await worker.claims.claimUnattended(10);
    expect(claimed.map(({ route }) => route)).toEqual([subscriptionRoute('s')]);
  });

  contract('what a worker has claimed and completed stays its own in the next claims', async () => {
    const { database } = await open();
    const worker = await register(database);
    const claimed = await claimNew(database, worker);
    expect(await claimAll(worker)).toEqual([]);
    await complete(worker, claimed);
    expect(await claimAll(worker)).toEqual([]);
  });
}
