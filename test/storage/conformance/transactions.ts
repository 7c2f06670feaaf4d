import { expect } from 'vitest';
import type { ClaimedTask } from '../../../lib/storage/attempt.js';
import {
  GroupBroken,
  type GroupedTransaction,
  type ServerSession,
} from '../../../lib/storage/transactions.js';
import { contract, contractOfEach } from './contract-test.js';
import {
  claimNew,
  complete,
  completionOf,
  failing,
  read,
  register,
  working,
  wrongClaims,
  type OpenDatabase,
} from './opened.js';

/** What every database promises of `TaskTransactions`. */
export function exerciseTransactions(open: OpenDatabase): void {
  contract("a task's success and its handler's work commit together", async () => {
    const { database, access, effects } = await open();
    const worker = await register(database);
    const claimed = await claimNew(database, worker);
    const transaction = database.transactions.begin(worker.id);
    expect(transaction.opened).toBe(false);
    await transaction.query(working);
    expect(transaction.opened).toBe(true);
    expect((await read(access, claimed.id)).status).toBe('processing');
    await transaction.complete(completionOf(claimed, '1'));
    expect(await read(access, claimed.id)).toMatchObject({
      status: 'succeeded',
      message: 'completed',
      result: '1',
    });
    expect(await effects()).toBe(1);
  });

  contract('a transaction that rolls back keeps nothing, and the attempt stays held', async () => {
    const { database, effects } = await open();
    const worker = await register(database);
    const claimed = await claimNew(database, worker);
    const transaction = database.transactions.begin(worker.id);
    await transaction.query(working);
    await transaction.rollback();
    await transaction.rollback();
    expect(await database.attempts.readOutcome(worker.id, claimed)).toBe('held');
    expect(await effects()).toBe(0);
  });

  contractOfEach(wrongClaims, ({ name }) => name)(
    '%s completes nothing in its transaction, which is undone',
    async (wrong) => {
      const { database, access, effects } = await open();
      const [holder, other] = [await register(database), await register(database)];
      const claimed = await claimNew(database, holder);
      const { claim, workerId } = wrong.of(claimed, holder.id, other.id);
      const transaction = database.transactions.begin(workerId);
      await transaction.query(working);
      await expect(transaction.complete(completionOf(claim))).rejects.toMatchObject({ code: 'TASK_LOST' });
      expect((await read(access, claimed.id)).status).toBe('processing');
      expect(await effects()).toBe(0);
    },
  );

  contract('a task that has ended is not completed again', async () => {
    const { database } = await open();
    const worker = await register(database);
    const claimed = await claimNew(database, worker);
    await complete(worker, claimed);
    const transaction = database.transactions.begin(worker.id);
    await transaction.query(working);
    await expect(transaction.complete(completionOf(claimed))).rejects.toMatchObject({ code: 'TASK_LOST' });
  });

  contract('a failed statement that the handler swallows breaks its transaction', async () => {
    const { database, effects } = await open();
    const worker = await register(database);
    const claimed = await claimNew(database, worker);
    const transaction = database.transactions.begin(worker.id);
    await transaction.query(working);
    await expect(transaction.query(failing)).rejects.toThrow('nowhere');
    const completing = transaction.complete(completionOf(claimed));
    await expect(completing).rejects.toMatchObject({ code: 'TRANSACTION_BROKEN' });
    await transaction.rollback();
    expect(await database.attempts.readOutcome(worker.id, claimed)).toBe('held');
    expect(await effects()).toBe(0);
  });

  contract('a statement after the end is refused', async () => {
    const { database, effects } = await open();
    const worker = await register(database);
    const claimed = await claimNew(database, worker);
    const transaction = database.transactions.begin(worker.id);
    await transaction.query(working);
    await transaction.complete(completionOf(claimed));
    await expect(transaction.query(working)).rejects.toMatchObject({ code: 'TASK_ENDED' });
    expect(await effects()).toBe(1);
  });

  contract('a transaction tells where it runs, and can be ended there by another process', async () => {
    const { database, effects } = await open();
    const worker = await register(database);
    const claimed = await claimNew(database, worker);
    const told: ServerSession[] = [];
    const transaction = database.transactions.begin(worker.id, (session) => told.push(session));
    await transaction.query(working);
    const [session] = told;
    if (!session) throw new Error('it has told nothing');
    await database.transactions.endSession({ ...session, mark: 'of another one' });
    await transaction.query(working);
    await database.transactions.endSession(session);
    await expect(transaction.complete(completionOf(claimed))).rejects.toMatchObject({
      code: 'CONNECTION_LOST',
    });
    await transaction.rollback();
    expect(await database.attempts.readOutcome(worker.id, claimed)).toBe('held');
    expect(await effects()).toBe(0);
    await expect(database.transactions.endSession(session)).resolves.toBeUndefined();
  });

  contract('an attempt is completed in a transaction of the application', async () => {
    const { database, access, inTransaction, effects } = await open();
    const worker = await register(database);
    const claimed = await claimNew(database, worker);
    await inTransaction(async (tx) => {
      await tx.query(working);
      await database.transactions.completeIn(tx, worker.id, completionOf(claimed, '1'));
    });
    expect(await read(access, claimed.id)).toMatchObject({ status: 'succeeded', result: '1' });
    expect(await effects()).toBe(1);
  });

  contractOfEach(wrongClaims, ({ name }) => name)(
    '%s completes nothing in a transaction of the application',
    async (wrong) => {
      const { database, access, inTransaction } = await open();
      const [holder, other] = [await register(database), await register(database)];
      const claimed = await claimNew(database, holder);
      const { claim, workerId } = wrong.of(claimed, holder.id, other.id);
      const completing = inTransaction((tx) =>
        database.transactions.completeIn(tx, workerId, completionOf(claim)),
      );
      await expect(completing).rejects.toMatchObject({ code: 'TASK_LOST' });
      expect((await read(access, claimed.id)).status).toBe('processing');
    },
  );
}

/** What every database promises of `TaskTransactions.beginGroup`. */
export function exerciseGroups(open: OpenDatabase): void {
  /** Does the work of a task in its part; returns how its completion ends. */
  async function work(
    part: GroupedTransaction,
    claimed: ClaimedTask,
  ): Promise<{ readonly end: Promise<PromiseSettledResult<void>> }> {
    await part.query(working);
    const ended = Promise.allSettled([part.complete(completionOf(claimed))]);
    await part.over;
    return { end: ended.then(([end]) => end) };
  }

  contract('the tasks of a group succeed together, when it commits', async () => {
    const { database, access, effects } = await open();
    const worker = await register(database);
    const claims = [await claimNew(database, worker), await claimNew(database, worker)];
    const group = database.transactions.beginGroup(worker.id);
    const ends = [];
    for (const claimed of claims) ends.push((await work(group.next(), claimed)).end);
    for (const { id } of claims) expect((await read(access, id)).status).toBe('processing');
    await group.commit();
    expect((await Promise.all(ends)).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
    for (const { id } of claims) expect((await read(access, id)).status).toBe('succeeded');
    expect([group.broken, await effects()]).toEqual([false, 2]);
  });

  contract('a task that fails takes nothing of the others', async () => {
    const { database, effects } = await open();
    const worker = await register(database);
    const [failed, kept] = [await claimNew(database, worker), await claimNew(database, worker)];
    const group = database.transactions.beginGroup(worker.id);
    const part = group.next();
    await part.query(working);
    const undone = part.rollback();
    await part.over;
    const { end } = await work(group.next(), kept);
    await group.commit();
    await undone;
    expect((await end).status).toBe('fulfilled');
    expect(await database.attempts.readOutcome(worker.id, kept)).toBe('completed');
    expect(await database.attempts.readOutcome(worker.id, failed)).toBe('held');
    expect(await effects()).toBe(1);
  });

  contract('a task that was lost breaks its group: nothing of it is kept', async () => {
    const { database, effects } = await open();
    const worker = await register(database);
    const [lost, kept] = [await claimNew(database, worker), await claimNew(database, worker)];
    const group = database.transactions.beginGroup(worker.id);
    const ends = [(await work(group.next(), kept)).end, (await work(group.next(), lost)).end];
    await database.attempts.releaseMany(worker.id, [lost]);
    await group.commit();
    expect((await Promise.all(ends)).map((end) => 'reason' in end && end.reason)).toEqual([
      expect.any(GroupBroken),
      expect.any(GroupBroken),
    ]);
    expect(group.broken).toBe(true);
    expect(await database.attempts.readOutcome(worker.id, kept)).toBe('held');
    expect(await effects()).toBe(0);
  });

  contract('a swallowed error is the fault of its task alone', async () => {
    const { database } = await open();
    const worker = await register(database);
    const [broken, kept] = [await claimNew(database, worker), await claimNew(database, worker)];
    const group = database.transactions.beginGroup(worker.id);
    const part = group.next();
    await expect(part.query(failing)).rejects.toThrow('nowhere');
    const completing = part.complete(completionOf(broken));
    await expect(completing).rejects.toMatchObject({ code: 'TRANSACTION_BROKEN' });
    await part.over;
    const { end } = await work(group.next(), kept);
    await group.commit();
    expect((await end).status).toBe('fulfilled');
    expect(await database.attempts.readOutcome(worker.id, broken)).toBe('held');
    expect(await database.attempts.readOutcome(worker.id, kept)).toBe('completed');
  });

  contract('a part that was cut off takes its group with it', async () => {
    const { database } = await open();
    const worker = await register(database);
    const [kept, hanging] = [await claimNew(database, worker), await claimNew(database, worker)];
    const group = database.transactions.beginGroup(worker.id);
    const { end } = await work(group.next(), kept);
    const part = group.next();
    await part.query(working);
    part.destroy(new Error('it took too long'));
    await part.over;
    expect(group.broken).toBe(true);
    await group.commit();
    expect(await end).toMatchObject({ status: 'rejected', reason: expect.any(GroupBroken) });
    expect(await database.attempts.readOutcome(worker.id, kept)).toBe('held');
    expect(await database.attempts.readOutcome(worker.id, hanging)).toBe('held');
  });
}
