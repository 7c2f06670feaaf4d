import { describe, expect, test } from 'vitest';
import { collect } from '../../storage/conformance/contract-test.js';

/** Runs what a suite declares. */
export function run(name: string, suite: () => void): void {
  describe.each([name])('%s', () => {
    test.each(collect(suite))('$title', async ({ run: check }) => {
      expect.hasAssertions();
      await check();
    });
  });
}
