import { expect, test } from 'vitest';
import { runBlockWithin } from '../../lib/storage/bulk-blocks.js';
import type { BulkPlace } from '../../lib/storage/admin.js';
import type { ErrorKind } from '../../lib/storage/error-kind.js';

const place: BulkPlace = { after: '0', lastId: '100', rows: 64, cancellation: { by: null, message: '' } };

/** Blocks of ids 1 to 100, of which one cannot be done, and none that has more rows than so many. */
async function run(kind: ErrorKind, bad: number, most = Infinity): Promise<readonly unknown[]> {
  const blocks: unknown[] = [];
  for (let after: string | null = '0'; after !== null;) {
    const block = await runBlockWithin(
      { ...place, after },
      {
        run: async ({ after: from, rows }) => {
          const last = Math.min(100, Number(from) + rows);
          const meetsBad = Number(from) < bad && bad <= last;
          if (meetsBad || rows > most) throw new Error(`no ${bad}`);
          return { done: last - Number(from), after: last < 100 ? String(last) : null };
        },
        first: async ({ after: from }) => String(Number(from) + 1),
        classify: () => kind,
      },
    );
    blocks.push(block.refused ?? block.done);
    ({ after } = block);
  }
  return blocks;
}

test('a block that is refused is halved down to the task that is to blame, which is passed by', async () => {
  const blocks = await run('row', 42);
  expect(blocks).toContainEqual({ id: '42', message: 'no 42' });
  expect(blocks.filter((one) => typeof one === 'number').reduce((sum, done) => sum + done, 0)).toBe(99);
});

test('blocks that take too long shrink until they go through', async () => {
  expect(await run('timeout', 0, 20)).toEqual([16, 16, 16, 16, 16, 16, 4]);
});

test('one task that takes too long, and any other error, is thrown', async () => {
  await expect(run('timeout', 0, 0)).rejects.toThrow('no 0');
  await expect(run('locked', 0, 20)).rejects.toThrow('no 0');
});
