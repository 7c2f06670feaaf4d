import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { byHalves } from '../../lib/storage/by-halves.js';

const refusal = new Error('refused');

test('what is refused is found, everything else is done once, and few tries are made for few refused', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.nat(300), { maxLength: 200 }),
      fc.func(fc.boolean()),
      async (all, isBad) => {
        const done: number[] = [];
        let tries = 0;
        const { refused } = await byHalves(
          all,
          async (some) => {
            tries += 1;
            if (some.some((one) => isBad(one))) throw refusal;
            done.push(...some);
          },
          (error) => error === refusal,
        );
        const bad = all.filter((one) => isBad(one));
        expect(refused.map(({ one }) => one)).toEqual(bad);
        expect(done).toEqual(all.filter((one) => !isBad(one)));
        expect(tries).toBeLessThanOrEqual(1 + 2 * bad.length * Math.ceil(Math.log2(Math.max(2, all.length))));
      },
    ),
  );
});

test('an error that is about none of them ends it', async () => {
  const other = new Error('the server is gone');
  const work = byHalves(
    [1, 2],
    () => Promise.reject(other),
    (error) => error === refusal,
  );
  await expect(work).rejects.toBe(other);
});
