import { expect, test } from 'vitest';
import { collect } from '../../storage/conformance/contract-test.js';

/** Runs what a suite declares. */
export function run(suite: () => void): void {
  test.each(collect(suite))('$title', async ({ run: check }) => {
    expect.hasAssertions();
    await check();
  });
}
