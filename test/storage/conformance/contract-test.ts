/** A test of a contract, for whoever runs it against a database. */
export interface ContractTest {
  readonly title: string;
  readonly run: () => Promise<void>;
}

let collected: ContractTest[] = [];

/** Declares a test of the suite that {@link collect} is reading. */
export function contract(title: string, run: () => Promise<void>): void {
  collected.push({ title, run });
}

/**
 * Declares a test for each case.
 *
 * @param name of a case, for the `%s` of the title
 */
export function contractOfEach<Case>(
  cases: readonly Case[],
  name: (one: Case) => string,
): (title: string, run: (one: Case) => Promise<void>) => void {
  return (title, run) => {
    for (const one of cases) contract(title.replace('%s', name(one)), () => run(one));
  };
}

/** Reads the tests that a suite declares. */
export function collect(suite: () => void): readonly ContractTest[] {
  collected = [];
  suite();
  return collected;
}
