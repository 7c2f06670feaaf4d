import { expect } from 'vitest';
import { contract } from './contract-test.js';
import { leaseMs } from '../../../lib/storage/workers.js';
import { claimNew, insert, register, type OpenDatabase, type TestWorker } from './opened.js';

const hours = 3_600_000;

/** What every database promises of `WorkerRegistry`. */
export function exerciseWorkers(open: OpenDatabase): void {
  /** Returns whether the registry has the worker as stopped: then whatever it holds is nobody's. */
  async function isStopped(
    { database, access }: Awaited<ReturnType<OpenDatabase>>,
    { id }: TestWorker,
  ): Promise<boolean> {
    await access.hold(await insert(database), id);
    return (await database.workers.unregisteredHolders()).includes(id);
  }

  contract('every worker has an id of its own', async () => {
    const { database } = await open();
    const ids = [await register(database), await register(database)].map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
  });

  contract('a worker that has stopped is written down as stopped', async () => {
    const opened = await open();
    const [gone, here] = [await register(opened.database), await register(opened.database)];
    await opened.database.workers.retire(gone.id, 'stopped');
    expect(await isStopped(opened, gone)).toBe(true);
    expect(await isStopped(opened, here)).toBe(false);
  });

  contract('a worker is not written down as stopped while it holds attempts', async () => {
    const opened = await open();
    const { database } = opened;
    const worker = await register(database);
    const claimed = await claimNew(database, worker);
    await database.workers.retire(worker.id, 'stopped');
    expect(await database.workers.unregisteredHolders()).toEqual([]);
    await database.attempts.releaseMany(worker.id, [claimed]);
    await database.workers.retire(worker.id, 'stopped');
    expect(await isStopped(opened, worker)).toBe(true);
  });

  contract('a worker that is back is not written down as lost', async () => {
    const opened = await open();
    const { workers } = opened.database;
    const [back, missing] = [await register(opened.database), await register(opened.database)];
    await workers.confirmLost([back.id, missing.id], 0);
    await workers.confirmLost([missing.id], 0);
    await workers.retire(back.id, 'lost');
    await workers.retire(missing.id, 'lost');
    expect(await isStopped(opened, back)).toBe(false);
    expect(await isStopped(opened, missing)).toBe(true);
  });

  contract('a worker is lost when two looks have missed it', async () => {
    const { database } = await open();
    const { workers } = database;
    const { id } = await register(database);
    expect(await workers.confirmLost([id], 0)).toEqual([]);
    expect(await workers.confirmLost([id], 0)).toEqual([id]);
  });

  contract('a worker that was back between two looks starts over', async () => {
    const { database } = await open();
    const { workers } = database;
    const { id } = await register(database);
    await workers.confirmLost([id], 0);
    await workers.confirmLost([], 0);
    expect(await workers.confirmLost([id], 0)).toEqual([]);
  });

  contract('a worker is not lost before it was missing for the given time', async () => {
    const { database } = await open();
    const { workers } = database;
    const { id } = await register(database);
    await workers.confirmLost([id], 60_000);
    expect(await workers.confirmLost([id], 60_000)).toEqual([]);
  });

  contract('a worker that was missed before the clock was set back is lost after two looks', async () => {
    const { database, setClockBack } = await open();
    const { workers } = database;
    const { id } = await register(database);
    await workers.confirmLost([id], 0);
    await setClockBack(2 * hours);
    expect(await workers.confirmLost([id], 0)).toEqual([]);
    expect(await workers.confirmLost([id], 0)).toEqual([id]);
  });

  contract('a lease that was renewed before the clock was set back shows nobody', async () => {
    const { database, setClockBack } = await open();
    const { workers, reports } = database;
    const { id } = await register(database);
    const look = async (): Promise<readonly unknown[]> => [
      (await workers.findMissing({ looker: '0', others: [], graceMs: 0 }))?.missing,
      (await reports.workers()).map(({ alive }) => alive),
    ];
    await workers.renewLease(id, leaseMs);
    expect(await look()).toEqual([[], ['lease']]);
    await setClockBack(2 * hours);
    expect(await look()).toEqual([[id], [false]]);
    await workers.renewLease(id, leaseMs);
    expect(await look()).toEqual([[], ['lease']]);
  });

  contract('a look says what the clock of the database is', async () => {
    const { database } = await open();
    const { atMs } = (await database.workers.findMissing({ looker: '0', others: [], graceMs: 0 })) ?? {};
    expect(Math.abs(Number(atMs) - Date.now())).toBeLessThan(hours);
  });

  contract('whoever holds attempts without being registered is found, and lost at once', async () => {
    const { database, access } = await open();
    const { workers } = database;
    await claimNew(database, await register(database));
    await access.hold(await insert(database), '999');
    expect(await workers.unregisteredHolders()).toEqual(['999']);
    expect(await workers.confirmLost(['999'], 60_000)).toEqual(['999']);
  });

  contract('workers that stopped long ago are forgotten, running ones never', async () => {
    const { database } = await open();
    const { workers } = database;
    const [stopped, running] = [await register(database), await register(database)];
    await workers.retire(stopped.id, 'stopped');
    await workers.forget(1);
    expect(await workers.confirmLost([stopped.id], 60_000)).toEqual([]);
    await workers.forget(-1);
    // Who is not in the registry is lost at once.
    expect(await workers.confirmLost([stopped.id, running.id], 60_000)).toEqual([stopped.id]);
  });

  contract('a running worker whose row is gone sees so, and is written down again', async () => {
    const { database, halt } = await open();
    const { workers, attempts, reports } = database;
    const description = {
      host: 'back',
      pid: 7,
      version: '0',
      concurrency: 3,
      routes: ['t:a'],
      deadRoutes: [],
    };
    const id = await workers.register(description);
    await workers.withdraw(id);
    const awaited = { ranges: [], deadRoutes: [], unknown: [] };
    expect(await workers.isHalted(id)).toBeUndefined();
    expect((await attempts.nextDue(id, false, awaited)).halted).toBeUndefined();
    await workers.restore(id, description);
    expect(await workers.isHalted(id)).toBe(false);
    expect(await reports.workers()).toMatchObject([{ id, host: 'back', routes: ['t:a'] }]);
    await halt();
    await workers.restore(id, { ...description, host: 'other' });
    expect(await workers.isHalted(id)).toBe(true);
    expect(await reports.workers()).toMatchObject([{ id, host: 'back' }]);
    expect((await register(database)).id).not.toBe(id);
  });

  contract('detached workers of a host are found while they run something, with their parents', async () => {
    const { database, access } = await open();
    const { workers, reports } = database;
    const of = { host: 'here', version: '0', concurrency: 1, routes: [], deadRoutes: [] };
    const [gone, here] = [
      await workers.register({ ...of, pid: 1 }),
      await workers.register({ ...of, pid: 2 }),
    ];
    await workers.retire(gone, 'stopped');
    const output = '/var/log/a.log';
    const add = async (parent: string, host: string, busy = true): Promise<string> => {
      const id = await workers.register({ ...of, host, pid: 3, detached: { parent, output } });
      if (busy) await access.hold(await insert(database), id);
      return id;
    };
    const orphan = await add(gone, 'here');
    await add(here, 'here');
    await add(here, 'elsewhere');
    await add(here, 'here', false);
    await access.hold(await insert(database), here);
    const found = (await workers.detachedOn('here')).toSorted(
      (a, b) => (a.parentPid ?? 0) - (b.parentPid ?? 0),
    );
    expect(found).toEqual([
      { route: 't:a', parentPid: undefined },
      { route: 't:a', parentPid: 2 },
    ]);
    const listed = await reports.workers();
    expect(listed.find(({ id }) => id === orphan)).toMatchObject({ parent: gone, output });
    expect(listed.find(({ id }) => id === here)).toMatchObject({ parent: null, output: null });
  });

  contract('no worker gets an id by which attempts are held', async () => {
    const { database, access } = await open();
    const [one, other] = [await register(database), await register(database)].map(({ id }) => Number(id));
    const step = (other ?? 0) - (one ?? 0);
    await access.hold(await insert(database), String((other ?? 0) + step));
    expect((await register(database)).id).toBe(String((other ?? 0) + 2 * step));
  });

  contract('a worker sees in its row that it was told to stop', async () => {
    const { database, halt } = await open();
    const { id } = await register(database);
    expect(await database.workers.isHalted(id)).toBe(false);
    await halt();
    expect(await database.workers.isHalted(id)).toBe(true);
    const later = await register(database);
    expect(await database.workers.isHalted(later.id)).toBe(false);
  });
}
