import { expect } from 'vitest';
import type { Claim } from '../../../lib/storage/attempt.js';
import type { BuriedChoice } from '../../../lib/storage/buried.js';
import { topicRoute } from '../../../lib/storage/route.js';
import { leaseMs } from '../../../lib/storage/workers.js';
import type { TaskRecord } from '../../../lib/task.js';
import { histogramOf } from '../../../lib/values/histogram.js';
import { contract } from './contract-test.js';
import {
  byText,
  claimAll,
  claimNew,
  complete,
  completionOf,
  endBadly,
  idsOf,
  insert,
  register,
  type OpenDatabase,
} from './opened.js';

const request = { purgeMaxAgeDays: 30 };

/** What every database promises of `QueueReports`. */
export function exerciseReports(open: OpenDatabase): void {
  contract('a status says what waits, runs and comes next', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    const running = await claimNew(database, worker, { topic: 'running' });
    const pending = await insert(database, { topic: 'waiting' });
    const next = await insert(database, { topic: 'later', delayMs: 7_200_000 });
    await access.travel(60_000);
    const status = await database.reports.status(request);
    expect(status.oldestPending?.id).toBe(pending);
    expect(status.lagMs).toBeGreaterThanOrEqual(60_000);
    expect(status.nextScheduled?.id).toBe(next);
    expect(status.running).toMatchObject([
      { id: running.id, firstAttemptId: running.id, topic: 'running', workerId: worker.id, host: 'test' },
    ]);
    expect(status.workers).toMatchObject([{ id: worker.id, alive: false }]);
    expect(status.counts.map(({ topic, status: state, count }) => [topic, state, count])).toEqual(
      expect.arrayContaining([
        ['later', 'scheduled', 1],
        ['running', 'processing', 1],
        ['waiting', 'pending', 1],
      ]),
    );
    expect(status.unserved).toMatchObject([{ topic: 'waiting', count: 1 }]);
  });

  contract('a status counts what has ended only where it is asked for', async () => {
    const { database } = await open();
    const worker = await register(database);
    await complete(worker, await claimNew(database, worker));
    await endBadly(database, worker, await claimNew(database, worker));
    const all = await database.reports.status(request);
    expect(all.counts.map(({ status }) => status).toSorted()).toEqual(['failed', 'pending', 'succeeded']);
    const without = await database.reports.status({ ...request, ended: false });
    expect(without.counts.map(({ status }) => status)).toEqual(['pending']);
  });

  contract('of tasks that gave up it is told which ones a dead handler has dealt with', async () => {
    const { database } = await open();
    const worker = await register(database);
    /** Its dead task, claimed. */
    const giveUp = async (topic: string): Promise<{ readonly live: string; readonly dead: Claim }> => {
      const live = await claimNew(database, worker, { topic });
      await endBadly(database, worker, live);
      const [dead] = await claimAll(worker, [topicRoute(topic)]);
      if (!dead) throw new Error(`no dead task of ${topic} was claimed`);
      return { live: live.id, dead };
    };
    const buried = async () => (await database.reports.status({ ...request, ended: false })).buried;
    expect(await buried()).toEqual({ treated: 0, untreated: 0, isCapped: false });

    const treated = await giveUp('treated');
    await complete(worker, treated.dead);
    const later = await giveUp('later');
    await endBadly(database, worker, later.dead, { kind: 'after-failure', delayMs: 0 });
    await database.attempts.promote(10);
    await complete(worker, ...(await claimAll(worker, [topicRoute('later')])));
    const byDefault = await giveUp('by default');
    const message = 'manual intervention is needed: no dead handler is registered';
    await worker.claims.settleAndClaim([{ ...completionOf(byDefault.dead), message }]);
    const unsuccessful = await giveUp('unsuccessful');
    await endBadly(database, worker, unsuccessful.dead);
    const running = await giveUp('running');
    const retried = await giveUp('retried');
    await complete(worker, retried.dead);
    await database.admin.retry(retried.live);

    expect(await buried()).toEqual({ treated: 2, untreated: 3, isCapped: false });
    const listed = async (choice: BuriedChoice): Promise<readonly string[]> =>
      idsOf(
        await database.admin.list({ buried: choice }, { greatest: 2n ** 62n, limit: 10, payload: false }),
      ).toSorted(byText);
    expect(await listed('treated')).toEqual([treated.live, later.live].toSorted(byText));
    const untreated = [byDefault.live, unsuccessful.live, running.live];
    expect(await listed('untreated')).toEqual(untreated.toSorted(byText));
    expect(await listed(true)).toHaveLength(5);

    // The task of the second round has a dead task of its own.
    for (const again of await claimAll(worker, [topicRoute('retried')]))
      await endBadly(database, worker, again);
    expect(await buried()).toEqual({ treated: 2, untreated: 4, isCapped: false });
  });

  contract(
    'a task that gave up is untreated when its dead task is not there, until it is retried',
    async () => {
      const { database, erase } = await open();
      const worker = await register(database);
      const live = await claimNew(database, worker);
      await endBadly(database, worker, live);
      for (const dead of await database.admin.deadTasksOf(live.id)) await erase(dead);
      const buried = async () => (await database.reports.status({ ...request, ended: false })).buried;
      expect(await buried()).toEqual({ treated: 0, untreated: 1, isCapped: false });
      const listed = await database.admin.list(
        { buried: 'untreated' },
        { greatest: 2n ** 62n, limit: 10, payload: false },
      );
      expect(idsOf(listed)).toEqual([live.id]);
      await database.admin.retry(live.id);
      expect(await buried()).toEqual({ treated: 0, untreated: 0, isCapped: false });
    },
  );

  contract('a status counts the history that can be purged', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    await complete(worker, await claimNew(database, worker));
    await access.travel(31 * 86_400_000);
    await complete(worker, await claimNew(database, worker));
    expect((await database.reports.status(request)).purgeable?.count).toBe(1);
    expect((await database.reports.status({ ...request, purgeable: false })).purgeable).toBeNull();
  });

  contract('workers that have stopped are not listed', async () => {
    const { database } = await open();
    const [gone, here] = [await register(database), await register(database)];
    await database.workers.retire(gone.id, 'stopped');
    await database.workers.renewLease(here.id, leaseMs);
    expect(await database.reports.workers()).toMatchObject([{ id: here.id, alive: 'lease' }]);
  });

  contract('what is scheduled next comes first, up to a number', async () => {
    const { database } = await open();
    const [third, first, second] = [
      await insert(database, { delayMs: 3_000_000 }),
      await insert(database, { delayMs: 1_000_000 }),
      await insert(database, { delayMs: 2_000_000 }),
    ];
    expect(idsOf(await database.reports.nextScheduled(2))).toEqual([first, second]);
    expect(idsOf(await database.reports.nextScheduled(9))).toEqual([first, second, third]);
    const worker = await register(database);
    const failed = await claimNew(database, worker);
    await endBadly(database, worker, failed, { kind: 'after-failure', delayMs: 500_000 });
    const [retry] = await database.reports.nextScheduled(1);
    expect(retry?.id).not.toBe(failed.id);
    expect(retry?.firstAttemptId).toBe(failed.id);
  });

  contract('a search goes on from page to page until everything is found, the newest first', async () => {
    const { database } = await open();
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push(await insert(database));
    await insert(database, { topic: 'other' });
    const found: string[] = [];
    let after: string | undefined;
    do {
      const page = await database.reports.search({ topic: 'a' }, { limit: 2, after });
      expect(page.tasks.length).toBeLessThanOrEqual(2);
      found.push(...idsOf(page.tasks));
      after = page.next;
    } while (after !== undefined);
    expect(found).toEqual(ids.toReversed());
    await expect(database.reports.search({}, { limit: 2, after: 'x' })).rejects.toThrow('`next` of a page');
  });

  contract('a search in payloads finds what is accepted, and reads payloads only then', async () => {
    const { database } = await open();
    const [one] = [
      await insert(database, { payload: 'one apple' }),
      await insert(database, { payload: 'two apples' }),
    ];
    const accept = ({ payload }: TaskRecord): boolean => payload?.startsWith('one') ?? false;
    const { tasks } = await database.reports.search({ payload: 'apple' }, { limit: 9, accept });
    expect(tasks).toMatchObject([{ id: one, payload: 'one apple' }]);
    const [plain] = (await database.reports.search({ ids: [one] }, { limit: 9 })).tasks;
    expect(plain?.payload).toBeNull();
  });

  contract('the last attempts of a task come newest first, with how many there are', async () => {
    const { database } = await open();
    const worker = await register(database);
    const claimed = await claimNew(database, worker);
    await endBadly(database, worker, claimed, { kind: 'after-failure', delayMs: 0 });
    const { attempts, total } = await database.reports.lastAttempts(claimed.id, 1);
    expect(total).toBe(2);
    expect(attempts).toMatchObject([{ task: { attempt: 2, firstAttemptId: claimed.id } }]);
    const first = (await database.reports.lastAttempts(claimed.id, 9)).attempts.at(-1);
    expect(first).toMatchObject({ errorLength: 'Error: bad'.length, resultLength: 0 });
    expect(await database.reports.lastAttempts('999999', 9)).toEqual({ attempts: [], total: 0 });
  });

  contract('a payload larger than asked for is not read', async () => {
    const { database } = await open();
    const id = await insert(database, { payload: 'äpple' });
    const whole = { text: 'äpple', bytes: 6, isDelivery: false, isReadable: true };
    expect(await database.reports.payload(id, 6)).toEqual(whole);
    expect(await database.reports.payload(id, 5)).toEqual({ ...whole, text: null });
    expect(await database.reports.payload('999999', 5)).toBeUndefined();
  });

  contract('what was added to the history is read back, by route and in all', async () => {
    const { database } = await open();
    const counts = { succeeded: 3, failed: 1, buried: 1, delivered: 0, unhandled: 0 };
    const [waits, runs] = [histogramOf([100, 100, 100, 100], 1), histogramOf([8, 8, 8, 8], 1)];
    await database.reports.addHistory([
      { route: 't:a', ...counts, waits, runs },
      { route: 't:b', ...counts, waits, runs },
    ]);
    await database.reports.addHistory([{ route: 't:a', ...counts, waits, runs }]);
    const { points, routes, stepMs } = await database.reports.history({ range: 'hour' });
    expect([stepMs, points.length]).toEqual([60_000, 60]);
    expect(points.reduce((sum, { succeeded }) => sum + succeeded, 0)).toBe(9);
    expect(routes.map(({ route, succeeded, failed }) => [route, succeeded, failed])).toEqual([
      ['t:a', 6, 2],
      ['t:b', 3, 1],
    ]);
    expect(routes[0]?.wait.p50).toBeGreaterThan(60);
    expect(routes[0]?.run.p50).toBeLessThan(12);
    expect((await database.reports.history({ range: 'day', route: 't:b' })).routes).toMatchObject([
      { route: 't:b', succeeded: 3 },
    ]);
  });

  contract('what has ended is measured, what runs is not', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    const [ended, running] = [await claimNew(database, worker), await claimNew(database, worker)];
    await access.travel(0);
    await complete(worker, ended);
    const measured = await database.reports.measure([ended.id, running.id, '999999']);
    expect([...measured.keys()]).toContain(ended.id);
    expect(measured.get(ended.id)?.runMs).toBeGreaterThanOrEqual(0);
    expect(measured.has('999999')).toBe(false);
  });

  contract('rows that can be purged are counted by topic and subscription', async () => {
    const { database } = await open();
    const ids = [await insert(database), await insert(database), await insert(database, { topic: 'b' })];
    const counted = await database.upkeep.describe(ids);
    expect(counted.map(({ topic, rows }) => [topic, rows]).toSorted(byText)).toEqual([
      ['a', 2],
      ['b', 1],
    ]);
  });
}
