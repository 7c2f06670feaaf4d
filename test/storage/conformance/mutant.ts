import { collect, type ContractTest } from './contract-test.js';

/** Runs a suite against what `open` gives until a test fails; returns the test's title, undefined when none does. */
export async function firstFailure<Open>(
  suite: (open: Open) => void,
  open: Open,
  run = (one: ContractTest): Promise<void> => one.run(),
): Promise<string | undefined> {
  for (const one of collect(() => suite(open))) {
    try {
      await run(one);
    } catch {
      return one.title;
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
