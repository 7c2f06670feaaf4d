import { expect, test } from 'vitest';
import { releaseClaims } from '../../lib/storage/release-claims.js';
import type { QueueDatabase } from '../../lib/storage/database.js';

const claims = Array.from({ length: 9 }, (_, index) => ({ id: String(index + 1), reservation: 1 }));

/** A database that does not let attempt 4 change, and has attempt 7 locked. */
function database(kind: 'row' | 'connection'): Pick<QueueDatabase, 'attempts' | 'classify'> {
  return {
    attempts: {
      releaseMany: async (_: string, some: typeof claims) => {
        if (some.some(({ id }) => id === '4')) throw new Error('frozen');
        return some.map(({ id }) => id).filter((id) => id !== '7');
      },
    } as unknown as QueueDatabase['attempts'],
    classify: () => kind,
  };
}

test('attempts are given back though one of them may not be changed', async () => {
  const { released, refused } = await releaseClaims(database('row'), '1', claims);
  expect([...released]).toEqual(['1', '2', '3', '5', '6', '8', '9']);
  expect([...refused]).toEqual([['4', new Error('frozen')]]);
});

test('without a connection nothing is tried again', async () => {
  await expect(releaseClaims(database('connection'), '1', claims)).rejects.toThrow('frozen');
});
