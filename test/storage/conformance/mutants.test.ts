import { describe, expect, onTestFinished, test, vi } from 'vitest';
import pg from 'pg';
import { suites } from './exercise.js';
import { memoryMutants } from './memory-mutants.js';
import { firstFailure } from './mutant.js';
import { openMemory } from './open-memory.js';
import { usePostgres } from './open-postgres.js';
import { statementMutants, type StatementMutant } from './statement-mutants.js';

// What the suites are worth: a database without one of its guards fails the suite that states the guard's contract. A mutant
// that no test sees is a promise that nobody checks.

describe('a database in memory', () => {
  test.each(memoryMutants)('$name', async ({ suite, breaks }) => {
    const open: typeof openMemory = async () => {
      const opened = await openMemory();
      breaks(opened.database as Parameters<typeof breaks>[0]);
      return opened;
    };
    expect(await firstFailure(suites[suite], open)).toEqual(expect.any(String));
  });
});

describe('statements of PostgreSQL', () => {
  const open = usePostgres();

  test.each(statementMutants)('$name', async (mutant) => {
    const changed = mutate(mutant);
    expect(await firstFailure(suites[mutant.suite], open)).toEqual(expect.any(String));
    expect(changed()).toBe(true);
  });
});

/** Changes a statement on its way to the server, until the test ends; answers whether it was sent. */
function mutate({ statement, from, to }: StatementMutant): () => boolean {
  let isChanged = false;
  const query = pg.Client.prototype.query as (...args: unknown[]) => unknown;
  const spy = vi.spyOn(pg.Client.prototype, 'query') as unknown as {
    mockImplementation(run: (this: pg.Client, ...args: unknown[]) => unknown): void;
    mockRestore(): void;
  };
  spy.mockImplementation(function (this: pg.Client, config, ...rest) {
    const text = typeof config === 'string' ? config : (config as Partial<pg.QueryConfig> | undefined)?.text;
    const [, name = ''] = /^-- name: (\w+)/.exec(text ?? '') ?? [];
    if (text === undefined || !statement.test(name)) return query.call(this, config, ...rest);
    if (!text.includes(from)) throw new Error(`${name} has no ${from}`);
    isChanged = true;
    const changed = text.replaceAll(from, to);
    // Prepared under its name stays the statement as it was.
    const other =
      typeof config === 'string' ? changed : { ...(config as object), name: undefined, text: changed };
    return query.call(this, other, ...rest);
  });
  onTestFinished(() => spy.mockRestore());
  return () => isChanged;
}
