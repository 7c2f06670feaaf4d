import { expect } from 'vitest';
import type { BulkPlace } from '../../../lib/storage/admin.js';
import { blamesRow } from '../../../lib/storage/error-kind.js';
import { failureOf } from '../../support/queue-storage.js';
import { contract, contractOfEach } from './contract-test.js';
import { claimNew, insert, read, register, type OpenDatabase } from './opened.js';

/** What every database promises where the table takes no row: nothing ends without what follows it. */
export function exerciseRefusals(open: OpenDatabase): void {
  const ends = [
    ['next attempt', { kind: 'after-failure', delayMs: 3_600_000 }],
    ['dead task', { kind: 'never' }],
  ] as const;
  contractOfEach(ends, ([name]) => name)(
    'an attempt whose %s is refused stays as it is, and fails once that can be inserted',
    async ([, next]) => {
      const { database, access, refuseInserts } = await open();
      const worker = await register(database);
      const { id } = await claimNew(database, worker);
      const failure = failureOf(id, worker.id, { next });
      const accept = await refuseInserts();
      const error: unknown = await database.attempts.failMany([failure]).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(Error);
      expect(blamesRow(database.classify(error))).toBe(true);
      expect(await access.attempts(id)).toMatchObject([
        { status: 'processing', message: null, retried: false, exhausted: false },
      ]);
      expect(await database.admin.deadTasksOf(id)).toEqual([]);
      await accept();
      const [outcome] = await database.attempts.failMany([failure]);
      const follows = next.kind === 'never' ? outcome?.deadId : (await access.attempts(id))[1]?.id;
      expect((await read(access, follows ?? '')).attempt).toBe(next.kind === 'never' ? 1 : 2);
    },
  );

  contract('a retry that is refused says so, and the task can be retried afterwards', async () => {
    const { database, refuseInserts } = await open();
    const { admin } = database;
    const id = await insert(database, { payload: 'good' });
    await admin.cancel({ ids: [id] }, { by: null, message: 'off' });
    const edited = { payload: 'better', hash: '', by: null, reason: null };
    const accept = await refuseInserts();
    await expect(admin.retry(id)).rejects.toBeInstanceOf(Error);
    await expect(admin.retryEdited(id, edited)).rejects.toBeInstanceOf(Error);
    expect(await admin.attemptsOf(id, false)).toMatchObject([{ status: 'cancelled', retried: false }]);
    await accept();
    const retried = (await admin.retryEdited(id, edited)) ?? '';
    expect((await admin.attemptsOf(id, false)).at(-1)).toMatchObject({ id: retried, status: 'pending' });
  });

  contract('a burial that is refused says so, and the task waits as before', async () => {
    const { database, refuseInserts } = await open();
    const { admin } = database;
    const id = await insert(database);
    const accept = await refuseInserts();
    await expect(admin.bury(id, 'enough')).rejects.toBeInstanceOf(Error);
    expect(await admin.attemptsOf(id, false)).toMatchObject([{ status: 'pending', message: null }]);
    await accept();
    const dead = (await admin.bury(id, 'enough')) ?? '';
    expect(await admin.deadTasksOf(id)).toEqual([dead]);
  });

  contract(
    'of many tasks that are retried those that are refused stay failed, and can be later',
    async () => {
      const { database, refuseInserts } = await open();
      const { admin } = database;
      const cancellation = { by: null, message: 'off' };
      for (const topic of ['a', 'b', 'c']) {
        await admin.cancel({ ids: [await insert(database, { topic })] }, cancellation);
      }
      const { lastId } = await admin.countMeant('retry', {}, 0);
      const place: BulkPlace = { after: '0', lastId, rows: 10, cancellation };
      const accept = await refuseInserts();
      const refused = { id: expect.any(String), message: expect.any(String) };
      expect(await admin.runBlock('retry', {}, place)).toMatchObject({ done: 0, refused });
      await accept();
      expect((await admin.runBlock('retry', {}, place)).done).toBe(3);
    },
  );
}
