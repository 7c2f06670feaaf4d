import { expect } from 'vitest';
import type { PurgeableWindow, PurgeLook } from '../../../lib/storage/upkeep.js';
import { failureOf } from '../../support/queue-storage.js';
import { contract } from './contract-test.js';
import { byText, claimAll, claimNew, complete, insert, register, type OpenDatabase } from './opened.js';

const day = 86_400_000;

/** What every database promises of `Upkeep`. */
export function exerciseUpkeep(open: OpenDatabase): void {
  type Opened = Awaited<ReturnType<OpenDatabase>>;

  function look({ database }: Opened, changes: Partial<PurgeLook> = {}): Promise<PurgeableWindow> {
    const usual = { olderThanDays: 10, after: undefined, rows: 100, blockRows: 100 };
    return database.upkeep.findPurgeable({ ...usual, ...changes });
  }

  /** Ids that a purge would delete. */
  async function purgeable(opened: Opened): Promise<readonly string[]> {
    return (await look(opened)).blocks.flat();
  }

  async function succeed({ database }: Opened, count: number): Promise<readonly string[]> {
    const worker = await register(database);
    const ids: string[] = [];
    for (let n = 0; n < count; n += 1) {
      const claimed = await claimNew(database, worker);
      await complete(worker, claimed);
      ids.push(claimed.id);
    }
    return ids;
  }

  contract('only tasks that have ended and are old may be deleted', async () => {
    const opened = await open();
    const { database, access } = opened;
    const old = await succeed(opened, 1);
    await insert(database, { topic: 'pending' });
    await insert(database, { topic: 'scheduled', delayMs: 20 * day });
    await claimNew(database, await register(database), { topic: 'running' });
    expect(await purgeable(opened)).toEqual([]);
    await access.travel(11 * day);
    const young = await succeed(opened, 1);
    expect(await purgeable(opened)).toEqual(old);
    expect(await database.upkeep.purge(old)).toBe(1);
    expect(await access.attempts(old[0] ?? '')).toEqual([]);
    expect(await access.attempts(young[0] ?? '')).toHaveLength(1);
  });

  contract('a task goes with all its attempts and its dead chain, or not at all', async () => {
    const opened = await open();
    const { database, access } = opened;
    const worker = await register(database);
    const first = await claimNew(database, worker);
    await database.attempts.failMany([failureOf(first.id, worker.id)]);
    await database.attempts.promote(10);
    const [second] = await claimAll(worker);
    const never = { kind: 'never' } as const;
    const failure = failureOf(second?.id ?? '', worker.id, { next: never });
    const [outcome] = await database.attempts.failMany([failure]);
    await access.travel(11 * day);
    expect(await purgeable(opened)).toEqual([]);
    // The rest of a task counts also where the look does not reach.
    expect((await look(opened, { before: outcome?.deadId })).blocks).toEqual([]);
    const live = [first.id, second?.id ?? ''];
    expect(await database.upkeep.purge(live)).toBe(0);
    const dead = await claimAll(worker);
    await complete(worker, ...dead);
    await access.travel(11 * day);
    const family = [...live, ...dead.map(({ id }) => id)];
    expect((await purgeable(opened)).toSorted(byText)).toEqual(family.toSorted(byText));
    expect(await database.upkeep.purge(family.slice(1))).toBe(0);
    expect(await database.upkeep.purge(family)).toBe(3);
    expect(await access.inserted(undefined)).toEqual([]);
  });

  contract('what was started after the look is not deleted', async () => {
    const opened = await open();
    const { database, access } = opened;
    const [ended] = await succeed(opened, 1);
    const waiting = await insert(database);
    expect(await database.upkeep.purge([ended ?? '', waiting])).toBe(1);
    expect(await access.attempts(waiting)).toHaveLength(1);
    expect(await database.upkeep.purge([])).toBe(0);
  });

  contract('blocks hold whole tasks, and together all of them once', async () => {
    const opened = await open();
    const ids = await succeed(opened, 5);
    await opened.access.travel(11 * day);
    const { blocks } = await look(opened, { blockRows: 2 });
    expect(blocks.length).toBeGreaterThan(1);
    expect(blocks.flat().toSorted(byText)).toEqual(ids.toSorted(byText));
    expect(Math.max(...blocks.map(({ length }) => length))).toBe(2);
  });

  contract('a look ends at its last row, and goes on behind it while there may be old ones', async () => {
    const opened = await open();
    const ids = await succeed(opened, 3);
    await opened.access.travel(11 * day);
    const kept = await insert(opened.database);
    const first = await look(opened, { rows: 2 });
    expect(first).toEqual({
      blocks: [[ids[0], ids[1]]],
      last: ids[1],
      keptFrom: undefined,
      goesOn: true,
    });
    const second = await look(opened, { rows: 3, after: first.last });
    expect(second).toEqual({ blocks: [[ids[2]]], last: kept, keptFrom: kept, goesOn: false });
    const before = await look(opened, { before: ids[1] });
    expect(before).toMatchObject({ blocks: [[ids[0]]], last: ids[0], goesOn: false });
    expect(await look(opened, { after: kept })).toMatchObject({ blocks: [], last: undefined, goesOn: false });
  });

  contract('a look at young rows alone does not go on', async () => {
    const opened = await open();
    const [first] = await succeed(opened, 2);
    const { goesOn, keptFrom, blocks } = await look(opened, { rows: 2 });
    expect({ goesOn, keptFrom, blocks }).toEqual({ goesOn: false, keptFrom: first, blocks: [] });
  });

  contract('making room ahead and dropping what is old leaves young tasks alone', async () => {
    const opened = await open();
    const { database, access } = opened;
    const [young] = await succeed(opened, 1);
    await database.upkeep.prepareAhead();
    expect(await database.upkeep.purgeAtOnce(10)).toMatchObject({ rows: 0, problem: undefined });
    expect(await access.attempts(young ?? '')).toHaveLength(1);
  });
}
