import { expect, test } from 'vitest';
import type { Liveness } from '../../lib/coordination/liveness.js';
import { QueueEvents } from '../../lib/events.js';
import { PurgeRoutine, type PurgeRules } from '../../lib/maintenance/purge.routine.js';
import type { QueueDatabase } from '../../lib/storage/database.js';
import type { PurgeableWindow, PurgeLook, Upkeep } from '../../lib/storage/upkeep.js';

interface Table {
  /** Where each look began. */
  readonly looks: (string | undefined)[];
  readonly deleted: string[];
  readonly purge: PurgeRoutine;
}

/** A purge of windows that are written down; what is not behind a listed id is the end. */
function purgeOf(
  windows: Readonly<Record<string, Partial<PurgeableWindow>>>,
  { rules, purge = async (ids) => ids.length }: { rules?: Partial<PurgeRules>; purge?: Upkeep['purge'] } = {},
): Table {
  const looks: (string | undefined)[] = [];
  const deleted: string[] = [];
  const upkeep: Partial<Upkeep> = {
    purgeAtOnce: async () => ({ rows: 0, before: undefined, problem: undefined }),
    findPurgeable: async ({ after }: PurgeLook) => {
      looks.push(after);
      const end = { blocks: [], last: undefined, keptFrom: undefined, goesOn: false };
      return { ...end, ...windows[after ?? 'start'] };
    },
    purge: async (ids) => {
      const gone = await purge(ids);
      if (gone > 0) deleted.push(...ids);
      return gone;
    },
  };
  const database = {
    upkeep,
    workers: { forget: async () => undefined },
    classify: () => 'other',
  } as unknown as QueueDatabase;
  const liveness: Pick<Liveness, 'exclusively'> = { exclusively: async (_routine, run) => run() };
  const routine = new PurgeRoutine(
    database,
    { liveness, events: new QueueEvents() },
    { maxAgeDays: 60, limit: 10, roundLimit: 100, ...rules },
  );
  return { looks, deleted, purge: routine };
}

test('a round goes on where the last one stopped, and not from the left', async () => {
  const { looks, deleted, purge } = purgeOf(
    {
      start: { blocks: [['1'], ['2']], last: '2', goesOn: true },
      '2': { blocks: [['3'], ['4']], last: '4', goesOn: true },
      '4': { blocks: [['5']], last: '5', goesOn: true },
    },
    { rules: { roundLimit: 3 } },
  );
  expect(await purge.run()).toBe(3);
  // Its window was not done with.
  expect(await purge.run()).toBe(3);
  expect(looks).toEqual([undefined, '2', '2', '4']);
  expect(deleted).toEqual(['1', '2', '3', '3', '4', '5']);
});

test('a window of which nothing may go is passed over, and so many windows are a round as well', async () => {
  const { looks, purge } = purgeOf(
    {
      start: { last: '10', keptFrom: '1', goesOn: true },
      '10': { last: '20', keptFrom: '11', goesOn: true },
      '20': { last: '30', keptFrom: '21', goesOn: true },
    },
    { rules: { roundLimit: 2 } },
  );
  expect(await purge.run()).toBe(0);
  expect(await purge.run()).toBe(0);
  expect(looks).toEqual([undefined, '10', '20', '30']);
});

test('the next walk begins at the first row that had to stay, or at the end when none had to', async () => {
  const { looks, purge } = purgeOf({
    start: { blocks: [['1']], last: '10', goesOn: true },
    '10': { blocks: [['11']], last: '20', keptFrom: '14', goesOn: true },
    '20': { last: '30', keptFrom: '25', goesOn: false },
    '13': { blocks: [['14']], last: '30', goesOn: false },
  });
  await purge.run();
  await purge.run();
  await purge.run();
  expect(looks).toEqual([undefined, '10', '20', '13', '30']);
});

test('what somebody has locked is looked at again by the next walk', async () => {
  const { looks, purge } = purgeOf(
    {
      start: { blocks: [['1']], last: '10', goesOn: true },
      '10': { blocks: [['12']], last: '20', goesOn: true },
    },
    { purge: async (ids) => (ids[0] === '12' ? 0 : ids.length) },
  );
  await purge.run();
  await purge.run();
  expect(looks).toEqual([undefined, '10', '20', '10', '20']);
});

test('a round that is cut short ends after its statement, and the next one goes on there', async () => {
  const table: Table = purgeOf(
    { start: { blocks: [['1'], ['2']], last: '2', goesOn: true } },
    {
      purge: async (ids) => {
        if (table.deleted.length === 0) table.purge.cutShort();
        return ids.length;
      },
    },
  );
  expect(await table.purge.run()).toBe(1);
  expect(await table.purge.run()).toBe(2);
  expect(table.looks).toEqual([undefined, undefined, '2']);
});
