import { expect } from 'vitest';
import type { QueueDatabase } from '../../../lib/storage/database.js';
import type { RetryTime } from '../../../lib/storage/attempt.js';
import type { CheckRequest } from '../../../lib/storage/inconsistencies.js';
import { publicationRoute } from '../../../lib/storage/route.js';
import { contract } from './contract-test.js';
import {
  byText,
  claimAll,
  claimNew,
  endBadly,
  insert,
  register,
  type OpenDatabase,
  type TestWorker,
} from './opened.js';

const all: CheckRequest = {
  since: undefined,
  newest: undefined,
  purgeMaxAgeDays: 30,
  timeoutMs: 0,
};
const retry = { kind: 'after-failure', delayMs: 3_600_000 } as const;
const endpoint = { tenant: null, group: null, url: null, httpMethod: null, headers: null, active: true };

/** What every database promises of a check: it finds what must not be there, and nothing else. */
export function exerciseChecks(open: OpenDatabase): void {
  contract(
    'a table in which everything has its successors holds nothing that must not be there',
    async () => {
      const { database } = await open();
      const worker = await register(database);
      await fail(database, worker, retry);
      await fail(database, worker);
      await database.admin.retry(await fail(database, worker));
      await database.admin.bury(await insert(database), 'off');
      await database.admin.cancel({ ids: [await insert(database)] }, { by: null, message: 'off' });
      await publish(database, worker, 2);
      await publish(database, worker, 0);
      await claimNew(database, worker);
      expect(await database.reports.check(all)).toEqual([]);
    },
  );

  contract('a check finds attempts that were retried and have no next attempt', async () => {
    const { database, access, erase } = await open();
    const worker = await register(database);
    await fail(database, worker, retry);
    const lost = await fail(database, worker, retry);
    await erase((await access.attempts(lost))[1]?.id ?? '');
    const replayed = await fail(database, worker);
    await erase((await database.admin.retry(replayed)) ?? '');
    expect(await database.reports.check(all)).toEqual([
      { kind: 'no-next-attempt', count: 2, ids: [replayed, lost] },
    ]);
  });

  contract('a check finds tasks that ran out of attempts and have no dead task', async () => {
    const { database, erase } = await open();
    const worker = await register(database);
    await fail(database, worker);
    const lost = await fail(database, worker);
    for (const dead of await database.admin.deadTasksOf(lost)) await erase(dead);
    expect(await database.reports.check(all)).toEqual([{ kind: 'no-dead-task', count: 1, ids: [lost] }]);
  });

  contract('the dead task of an earlier round is not that of a later one', async () => {
    const { database, access, erase } = await open();
    const worker = await register(database);
    const first = await fail(database, worker);
    const again = (await database.admin.retry(first)) ?? '';
    const claimed = (await claimAll(worker)).find(({ id }) => id === again);
    if (!claimed) throw new Error('the retried task was not claimed');
    await endBadly(database, worker, claimed);
    const [, second] = await database.admin.deadTasksOf(first);
    await erase(second ?? '');
    expect((await access.attempts(first)).map(({ exhausted }) => exhausted)).toEqual([true, true]);
    expect(await database.reports.check(all)).toEqual([{ kind: 'no-dead-task', count: 1, ids: [again] }]);
  });

  contract(
    'a check finds publications with fewer deliveries than they say, until these may be purged',
    async () => {
      const { database, access, erase } = await open();
      const worker = await register(database);
      const publication = await publish(database, worker, 2);
      const { tasks } = await database.reports.search({ publicationId: publication }, { limit: 9 });
      await erase(tasks.find(({ subscriptionId }) => subscriptionId !== null)?.id ?? '');
      expect(await database.reports.check(all)).toEqual([
        { kind: 'missing-deliveries', count: 1, ids: [publication] },
      ]);
      await access.travel(31 * 86_400_000);
      expect(await database.reports.check(all)).toEqual([]);
    },
  );

  contract('a check finds attempts that run while no registered worker holds them', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    const stopped = await register(database);
    await database.workers.retire(stopped.id, 'stopped');
    await claimNew(database, worker);
    const [ofNobody, ofStopped] = [await insert(database), await insert(database)];
    await access.hold(ofNobody, '4711');
    await access.hold(ofStopped, stopped.id);
    expect(await database.reports.check(all)).toEqual([
      { kind: 'no-worker', count: 2, ids: [ofStopped, ofNobody] },
    ]);
  });

  contract('a next attempt that is missing is inserted once, as it was', async () => {
    const { database, access, erase } = await open();
    const { attempts } = database;
    const worker = await register(database);
    const whole = await fail(database, worker, retry);
    const lost = await fail(database, worker, retry);
    const [, next] = await access.attempts(lost);
    await erase(next?.id ?? '');
    expect(await attempts.findUnfollowed([whole, lost, '999999'])).toEqual([
      { id: lost, kind: 'no-next-attempt' },
    ]);
    await Promise.all([attempts.insertNext([whole, lost]), attempts.insertNext([lost, '999999'])]);
    await attempts.insertNext([lost]);
    const [first, again, ...others] = await access.attempts(lost);
    expect(others).toEqual([]);
    expect(again).toEqual({ ...next, id: again?.id });
    expect(first).toMatchObject({ status: 'failed', retried: true });
    expect(await access.attempts(whole)).toHaveLength(2);
    expect(await attempts.findUnfollowed([whole, lost])).toEqual([]);
  });

  contract('what an operator has retried, what was due, and dead tasks are not put back', async () => {
    const { database, access, erase } = await open();
    const { attempts, admin } = database;
    const worker = await register(database);
    const [replayed, buried] = [await fail(database, worker), await fail(database, worker)];
    const cancelled = await insert(database);
    await admin.cancel({ ids: [cancelled] }, { by: null, message: 'off' });
    await erase((await admin.retry(replayed)) ?? '');
    await erase((await admin.retry(cancelled)) ?? '');
    for (const dead of await admin.deadTasksOf(buried)) await erase(dead);
    // It may have run, and been deleted since.
    const due = await fail(database, worker, { kind: 'after-failure', delayMs: 0 });
    await erase((await access.attempts(due))[1]?.id ?? '');
    const ids = [replayed, cancelled, buried, due];
    const unfollowed = [
      { id: due, kind: 'no-next-attempt' },
      { id: replayed, kind: 'no-next-attempt' },
      { id: cancelled, kind: 'no-next-attempt' },
      { id: buried, kind: 'no-dead-task' },
    ];
    expect((await attempts.findUnfollowed(ids)).toSorted(byText)).toEqual(unfollowed.toSorted(byText));
    await attempts.insertNext(ids);
    for (const id of ids) expect(await access.attempts(id)).toHaveLength(1);
  });

  contract('a check of the newest ids looks at no others, but at all that run', async () => {
    const { database, access, erase } = await open();
    const worker = await register(database);
    const held = await insert(database);
    await access.hold(held, '4711');
    const running = { kind: 'no-worker', count: 1, ids: [held] };
    const lost: string[] = [];
    for (let n = 0; n < 2; n += 1) {
      const id = await fail(database, worker, retry);
      await erase((await access.attempts(id))[1]?.id ?? '');
      lost.push(id);
    }
    const newest = Number(await insert(database)) - Number(lost[1]) + 1;
    expect(await database.reports.check({ ...all, newest: newest - 1 })).toEqual([running]);
    expect(await database.reports.check({ ...all, newest })).toEqual([
      running,
      { kind: 'no-next-attempt', count: 1, ids: [lost[1]] },
    ]);
    expect(await database.reports.check({ ...all, newest: 1_000 })).toMatchObject([running, { count: 2 }]);
  });

  contract('a check leaves out what ended before a time, and names the newest ten of a kind', async () => {
    const { database, access, erase } = await open();
    const worker = await register(database);
    const lost: string[] = [];
    for (let n = 0; n < 11; n += 1) {
      const id = await fail(database, worker, retry);
      await erase((await access.attempts(id))[1]?.id ?? '');
      lost.push(id);
    }
    expect(await database.reports.check(all)).toEqual([
      { kind: 'no-next-attempt', count: 11, ids: lost.slice(1).toReversed() },
    ]);
    const since = (ms: number): Date => new Date(Date.now() + ms);
    expect(await database.reports.check({ ...all, since: since(-3_600_000) })).toHaveLength(1);
    expect(await database.reports.check({ ...all, since: since(3_600_000) })).toEqual([]);
  });
}

/** A task that has failed: for good, or with a next attempt. */
async function fail(database: QueueDatabase, worker: TestWorker, next?: RetryTime): Promise<string> {
  const claimed = await claimNew(database, worker);
  await endBadly(database, worker, claimed, next);
  return claimed.id;
}

/** A publication that was delivered to so many subscriptions of a topic of its own. */
async function publish(database: QueueDatabase, worker: TestWorker, subscriptions: number): Promise<string> {
  const topic = `published ${subscriptions}`;
  for (let n = 0; n < subscriptions; n += 1) {
    await database.subscriptions.add({ ...endpoint, id: `${topic} ${n}`, topic });
  }
  const publication = await insert(database, { topic }, true);
  const claims = (await claimAll(worker, [publicationRoute])).filter(({ id }) => id === publication);
  await database.attempts.fanOutMany(worker.id, claims);
  return publication;
}
