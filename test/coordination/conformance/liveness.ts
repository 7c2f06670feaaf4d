import { expect } from 'vitest';
import type { Liveness } from '../../../lib/coordination/liveness.js';
import type { WorkerId } from '../../../lib/storage/attempt.js';
import { contract } from '../../storage/conformance/contract-test.js';
import { deferred } from '../../support/waiting.js';
import { register, type OpenLiveness } from './opened.js';

const ignore = { lost: () => undefined, restored: () => undefined };

/** What every kind of liveness promises. */
export function exerciseLiveness(open: OpenLiveness): void {
  /** Holds the liveness of two new workers while a test runs. */
  async function heldByBoth(
    run: (held: { readonly ids: readonly WorkerId[] } & Awaited<ReturnType<OpenLiveness>>) => Promise<void>,
  ): Promise<void> {
    const opened = await open();
    const { one, other, workers } = opened;
    const ids = [await register(workers), await register(workers)];
    await one.hold(ids[0] ?? '', ignore);
    await other.hold(ids[1] ?? '', ignore);
    try {
      await run({ ...opened, ids });
    } finally {
      await Promise.all([one.release(), other.release()]);
    }
  }
  const missing = async (liveness: Liveness, others: readonly WorkerId[] = []) =>
    (await liveness.findMissing(others))?.missing;

  contract('it is alive from its hold to its release', async () => {
    const { one, workers } = await open();
    const id = await register(workers);
    expect(one.alive).toBe(false);
    await one.hold(id, ignore);
    expect(one.alive).toBe(true);
    await one.release();
    expect(one.alive).toBe(false);
    await one.release();
  });

  contract('workers that live are not missing; one that was only written down is', async () => {
    await heldByBoth(async ({ one, other, workers }) => {
      expect(await missing(one)).toEqual([]);
      const third = await register(workers);
      expect(await missing(one)).toEqual([third]);
      expect(await missing(other)).toEqual([third]);
    });
  });

  contract('one that has stopped is not missing, unless it is asked for', async () => {
    await heldByBoth(async ({ one, workers }) => {
      const third = await register(workers);
      await workers.retire(third, 'stopped');
      expect(await missing(one)).toEqual([]);
      expect(await missing(one, [third, '4711'])).toEqual(expect.arrayContaining([third, '4711']));
    });
  });

  contract('it says whether other workers run', async () => {
    const { one, workers } = await open();
    await one.hold(await register(workers), ignore);
    expect((await one.findMissing([]))?.hasOthers).toBe(false);
    await register(workers);
    expect((await one.findMissing([]))?.hasOthers).toBe(true);
    await one.release();
  });

  contract('it says whether any worker is marked as missing', async () => {
    await heldByBoth(async ({ one, workers }) => {
      expect((await one.findMissing([]))?.noted).toBe(false);
      await workers.confirmLost([await register(workers)], 60_000);
      expect((await one.findMissing([]))?.noted).toBe(true);
    });
  });

  contract('a worker that was called lost before its hold is back', async () => {
    const { one, other, workers } = await open();
    const [id, looker] = [await register(workers), await register(workers)];
    await other.hold(looker, ignore);
    await workers.confirmLost([id], 0);
    await workers.retire(id, 'lost');
    await one.hold(id, ignore);
    // It runs again: what it holds is not taken for an orphan.
    expect((await other.findMissing([]))?.hasOthers).toBe(true);
    expect(await missing(other)).toEqual([]);
    await Promise.all([one.release(), other.release()]);
  });

  contract('a routine runs in one worker at a time', async () => {
    await heldByBoth(async ({ one, other }) => {
      const gate = deferred();
      const begun = deferred();
      const running = one.exclusively('purge', async () => {
        begun.resolve();
        await gate.promise;
        return 'done';
      });
      await begun.promise;
      expect(await other.exclusively('purge', async () => 'beside it')).toBeUndefined();
      expect(await other.exclusively('notify', async () => 'another one')).toBe('another one');
      gate.resolve();
      expect(await running).toBe('done');
      expect(await other.exclusively('purge', async () => 'after it')).toBe('after it');
    });
  });

  contract('a routine that fails gives its turn back', async () => {
    await heldByBoth(async ({ one, other }) => {
      await expect(one.exclusively('retry', () => Promise.reject(new Error('bad')))).rejects.toThrow('bad');
      expect(await other.exclusively('retry', async () => 'done')).toBe('done');
    });
  });
}

/** What the kinds promise besides whose hold ends with their release: a lease runs out later. */
export function exerciseRelease(open: OpenLiveness): void {
  contract('a worker that has released its liveness is missing until it has stopped', async () => {
    const { one, other, workers } = await open();
    const [id, looker] = [await register(workers), await register(workers)];
    await one.hold(id, ignore);
    await other.hold(looker, ignore);
    await one.release();
    expect((await other.findMissing([]))?.missing).toEqual([id]);
    await workers.retire(id, 'stopped');
    expect((await other.findMissing([]))?.missing).toEqual([]);
    await other.release();
  });
}
