import { expect, test } from 'vitest';
import type { QueueDatabase } from '../../lib/storage/database.js';
import type { ErrorKind } from '../../lib/storage/error-kind.js';
import { KeptTasks } from '../../lib/storage/kept-tasks.js';
import { purgeBlock } from '../../lib/storage/purge-blocks.js';
import { findWithin } from '../../lib/storage/purge-windows.js';

type Purging = Pick<QueueDatabase, 'upkeep' | 'classify'>;

/** Tasks of two attempts, `1a` and `1b`, which go unless an error is thrown. */
function database(purge: (ids: readonly string[]) => void, kind: ErrorKind): Purging {
  return {
    upkeep: {
      purge: async (ids: readonly string[]) => {
        purge(ids);
        return ids.length;
      },
      families: async (ids: readonly string[]) =>
        [...new Set(ids.map((id) => id.slice(0, -1)))].map((task) => [`${task}a`, `${task}b`]),
      findPurgeable: async ({ rows }: { rows: number }) => {
        if (rows > 1_000) throw new Error('too long');
        return { blocks: [], last: String(rows), keptFrom: undefined, goesOn: false };
      },
    } as unknown as QueueDatabase['upkeep'],
    classify: () => kind,
  };
}

const block = ['1', '2', '3', '4', '5'].flatMap((task) => [`${task}a`, `${task}b`]);

test('a refused block is divided by its tasks: those stay that are to blame', async () => {
  const refuse = (ids: readonly string[]): void => {
    if (ids.includes('2b') || ids.includes('5a')) throw new Error('no');
  };
  const purged = await purgeBlock(database(refuse, 'row'), block);
  expect(purged).toMatchObject({ gone: 6, isTooLarge: false });
  expect(purged.kept.map(({ ids }) => ids)).toEqual([
    ['2a', '2b'],
    ['5a', '5b'],
  ]);
});

test('a block that takes too long is said to be too large; one task that does stays', async () => {
  const refuse = (): void => {
    throw new Error('too long');
  };
  const slow = database(refuse, 'timeout');
  expect(await purgeBlock(slow, block)).toEqual({ gone: 0, kept: [], isTooLarge: true });
  const one = await purgeBlock(slow, ['1a', '1b']);
  expect(one).toMatchObject({ gone: 0, kept: [{ ids: ['1a', '1b'] }], isTooLarge: false });
});

test('what others have locked is left, and any other error is thrown', async () => {
  const refuse = (): void => {
    throw new Error('no');
  };
  for (const kind of ['locked', 'retry'] as const) {
    expect(await purgeBlock(database(refuse, kind), block)).toEqual({ gone: 0, kept: [], isTooLarge: false });
  }
  await expect(purgeBlock(database(refuse, 'connection'), block)).rejects.toThrow('no');
});

test('of a block of which nothing may go not everything is tried', async () => {
  let statements = 0;
  const refuse = (): void => {
    statements += 1;
    throw new Error('no');
  };
  const many = Array.from({ length: 1_000 }, (_, index) => [`${index}a`, `${index}b`]).flat();
  await purgeBlock(database(refuse, 'row'), many, 10);
  expect(statements).toBe(21);
});

test('a window that takes too long is halved, and the next one begins with that', async () => {
  const look = { olderThanDays: 1, after: undefined, rows: 10_000, blockRows: 10 };
  expect(
    (
      await findWithin(
        database(() => undefined, 'timeout'),
        look,
      )
    ).rows,
  ).toBe(625);
  await expect(
    findWithin(
      database(() => undefined, 'other'),
      look,
    ),
  ).rejects.toThrow('too long');
});

test('kept tasks are known for a day, and told once by their reason', () => {
  let now = 0;
  const kept = new KeptTasks(() => now);
  const error = new Error('invoices_task');
  kept.add([
    { ids: ['1', '2'], error },
    { ids: ['3'], error },
  ]);
  expect(kept.without(['1', '2', '3', '4'])).toEqual(['4']);
  expect(kept.takeReasons()).toEqual([
    expect.stringMatching(/left 2 old tasks, such as 1, .*invoices_task$/),
  ]);
  expect(kept.takeReasons()).toEqual([]);
  now += 90_000_000;
  expect(kept.without(['1'])).toEqual(['1']);
});
