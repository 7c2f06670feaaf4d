import { collect } from './contract-test.js';
import type { OpenDatabase } from './opened.js';

/** Runs a suite against a database until a test fails; answers the test's title. */
export async function firstFailure(
  suite: (open: OpenDatabase) => void,
  open: OpenDatabase,
): Promise<string | undefined> {
  for (const { title, run } of collect(() => suite(open))) {
    try {
      await run();
    } catch {
      return title;
    }
  }
  return undefined;
}
