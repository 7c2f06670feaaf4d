import { expect } from 'vitest';
import type { Claim } from '../../../lib/storage/attempt.js';
import { failureOf } from '../../support/queue-storage.js';
import { contract } from './contract-test.js';
import {
  byText,
  claimAll,
  claimNew,
  complete,
  idsOf,
  insert,
  register,
  type OpenDatabase,
} from './opened.js';

/** What every database promises of attempts that workers hold, and of those whose end is unknown. */
export function exerciseHolders(open: OpenDatabase): void {
  contract('of an attempt whose end is unknown it is told what became of it', async () => {
    const { database } = await open();
    const [worker, other] = [await register(database), await register(database)];
    const [held, completed, failed, released] = [
      await claimNew(database, worker),
      await claimNew(database, worker),
      await claimNew(database, worker),
      await claimNew(database, worker),
    ];
    await complete(worker, completed);
    await database.attempts.failMany([failureOf(failed.id, worker.id)]);
    await database.attempts.releaseMany(worker.id, [released]);
    const outcomes = [held, completed, failed, released].map((claim) =>
      database.attempts.readOutcome(worker.id, claim),
    );
    expect(await Promise.all(outcomes)).toEqual(['held', 'completed', 'failed', 'lost']);
    expect(await database.attempts.readOutcome(other.id, completed)).toBe('lost');
    await claimAll(other);
    expect(await database.attempts.readOutcome(worker.id, released)).toBe('lost');
    const earlier = { ...held, reservation: held.reservation - 1 };
    expect(await database.attempts.readOutcome(worker.id, earlier)).toBe('lost');
    expect(await database.attempts.readOutcome(worker.id, { id: '999999', reservation: 1 })).toBe('lost');
  });

  contract('of given attempts those stand that the worker has claimed, running or completed', async () => {
    const { database } = await open();
    const [worker, other] = [await register(database), await register(database)];
    const [held, ended, others] = [
      await claimNew(database, worker),
      await claimNew(database, worker),
      await claimNew(database, other),
    ];
    await complete(worker, ended);
    const ids = [held.id, ended.id, others.id, '999999'];
    const standing = await database.attempts.standing(worker.id, ids);
    expect(standing.toSorted((a, b) => Number(a.id) - Number(b.id))).toEqual([
      { ...holdOf(held), cancelled: false, completed: false },
      { ...holdOf(ended), cancelled: false, completed: true },
    ]);
    expect(await database.attempts.standing(worker.id, [])).toEqual([]);
  });

  contract('what a worker holds is read a page at a time, with its tasks and routes', async () => {
    const { database } = await open();
    const [worker, other] = [await register(database), await register(database)];
    const held = [await claimNew(database, worker), await claimNew(database, worker, { topic: 'b' })];
    await claimNew(database, other);
    expect(await database.attempts.heldBy(worker.id, 1)).toHaveLength(1);
    const all = await database.attempts.heldBy(worker.id, 10);
    const asRead = all.map(({ id, reservation, workerId, route, task }) => [
      { id, reservation },
      workerId,
      route,
      task.key,
    ]);
    const expected = held.map((one) => [holdOf(one), worker.id, one.route, one.task.key]);
    expect(asRead.toSorted(byText)).toEqual(expected.toSorted(byText));
  });

  contract('of a lost worker nothing is read once it is back', async () => {
    const { database, access } = await open();
    const worker = await register(database);
    const { id } = await claimNew(database, worker);
    expect(await database.attempts.heldBy(worker.id, 10, true)).toEqual([]);
    await database.workers.confirmLost([worker.id], 0);
    expect(idsOf(await database.attempts.heldBy(worker.id, 10, true))).toEqual([id]);
    await database.workers.confirmLost([], 0);
    expect(await database.attempts.heldBy(worker.id, 10, true)).toEqual([]);
    const unregistered = await insert(database);
    await access.hold(unregistered, '999');
    expect(idsOf(await database.attempts.heldBy('999', 10, true))).toEqual([unregistered]);
  });

  contract('a lost worker that another one has recovered cannot write any more', async () => {
    const { database, access } = await open();
    const [lost, other] = [await register(database), await register(database)];
    const claimed = await claimNew(database, lost);
    await database.workers.confirmLost([lost.id], 0);
    const [held] = await database.attempts.heldBy(lost.id, 10, true);
    const recovery = failureOf(held?.id ?? '', held?.workerId ?? '', { lost: true });
    expect(await database.attempts.failMany([recovery])).toHaveLength(1);
    await database.attempts.promote(10);
    const [second] = await claimAll(other);
    expect(second).toMatchObject({ task: { attempt: 2 }, losses: 1 });
    await complete(lost, claimed, second ?? claimed);
    expect((await access.attempts(claimed.id)).map(({ status }) => status)).toEqual(['failed', 'processing']);
  });

  contract('of two that recover a lost worker at the same time one does', async () => {
    const { database, access } = await open();
    const lost = await register(database);
    const { id } = await claimNew(database, lost);
    await database.workers.confirmLost([lost.id], 0);
    const recover = async (): Promise<number> => {
      const held = await database.attempts.heldBy(lost.id, 10, true);
      const failures = held.map((one) => failureOf(one.id, one.workerId, { lost: true }));
      return (await database.attempts.failMany(failures)).length;
    };
    expect(new Set(await Promise.all([recover(), recover()]))).toEqual(new Set([0, 1]));
    expect(await access.attempts(id)).toHaveLength(2);
  });
}

function holdOf({ id, reservation }: Claim): Claim {
  return { id, reservation };
}
