import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Client, type QueryConfig } from 'pg';
import { suites } from './exercise.js';
import { methodMutants } from './method-mutants.js';
import { firstFailure } from './mutant.js';
import { operatorStatementMutants } from './operator-mutants.js';
import { usePostgres } from './open-postgres.js';
import { statementMutants, type StatementMutant } from './statement-mutants.js';

// What the suites are worth: a database without one of its guards fails the suite that states the guard's contract. A mutant
// that no test sees is a promise that nobody checks.

describe('methods of a database', () => {
  const open = usePostgres();

  test.each(methodMutants)('$name', async ({ suite, breaks }) => {
    const openBroken: typeof open = async () => {
      const opened = await open();
      return { ...opened, database: breaks(opened.database) };
    };
    expect(await firstFailure(suites[suite], openBroken)).toEqual(expect.any(String));
  });
});

describe('statements of PostgreSQL', () => {
  const open = usePostgres();

  test.each([...statementMutants, ...operatorStatementMutants])('$name', async (mutant) => {
    const sent = mutate(mutant);
    expect(await firstFailure(suites[mutant.suite], open)).toEqual(expect.any(String));
    // A statement that the server cannot read fails every test, and says nothing of them.
    expect(sent()).toEqual({ times: expect.any(Number), refused: undefined });
    expect(sent().times).toBeGreaterThan(0);
  });
});

/** What became of a changed statement. */
interface Sent {
  readonly times: number;
  /** SQLSTATE with which the server refused it as no statement. */
  readonly refused: string | undefined;
}

/** Changes a statement on its way to the server, until the test ends. */
function mutate({ statement, from, to }: StatementMutant): () => Sent {
  let times = 0;
  let refused: string | undefined;
  // oxlint-disable-next-line typescript/unbound-method -- it is called with the client below
  const query = Client.prototype.query as (this: Client, ...args: unknown[]) => Promise<unknown>;
  const spy = vi.spyOn(Client.prototype, 'query') as unknown as {
    mockImplementation(run: typeof query): void;
    mockRestore(): void;
  };
  const note = (error: unknown): void => {
    const code = String((error as { code?: unknown } | null | undefined)?.code);
    if (code.startsWith('42')) refused = `${code}: ${(error as Error).message}`;
  };
  spy.mockImplementation(function (this: Client, config, ...rest) {
    const text = typeof config === 'string' ? config : (config as Partial<QueryConfig> | undefined)?.text;
    const [, name = ''] = /^-- name: (\w+)/.exec(text ?? '') ?? [];
    if (!text?.includes(from) || !statement.test(name)) return query.call(this, config, ...rest);
    times += 1;
    const changed = text.replaceAll(from, to);
    // Prepared under its name stays the statement as it was.
    const other =
      typeof config === 'string' ? changed : { ...(config as object), name: undefined, text: changed };
    // A pool asks with a callback, and gets no promise.
    const callback = rest.at(-1);
    if (typeof callback === 'function') {
      const told = (error: unknown, ...answer: unknown[]): unknown => {
        note(error);
        return (callback as (...args: unknown[]) => unknown)(error, ...answer);
      };
      return query.call(this, other, ...rest.slice(0, -1), told);
    }
    return query.call(this, other, ...rest).catch((error: unknown) => {
      note(error);
      throw error;
    });
  });
  onTestFinished(() => spy.mockRestore());
  return () => ({ times, refused });
}
