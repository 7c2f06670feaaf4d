import { collect } from './contract-test.js';
import type { OpenDatabase } from './opened.js';

/** Runs a suite against a database until a test fails; returns the test's title. */
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

/** That object, with other members in place of some. */
export function replaced<Part extends object>(part: Part, members: Partial<Part>): Part {
  return new Proxy(part, {
    get: (own, name) => {
      const from = Object.hasOwn(members, name) ? members : own;
      const member: unknown = Reflect.get(from, name, from);
      return typeof member === 'function' ? (member.bind(from) as unknown) : member;
    },
  });
}
