import mysql from 'mysql2';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { suites } from './exercise.js';
import { firstFailure } from './mutant.js';
import { mysqlMutants } from './mysql-mutants.js';
import { useMysql } from './open-mysql.js';
import type { StatementMutant } from './statement-mutants.js';

// What the suites are worth on MySQL and MariaDB, whose statements are other ones: see `mutants.long.test.ts`.

describe('statements of MySQL', () => {
  const open = useMysql('mariadb');

  test.each(mysqlMutants)('$name', async (mutant) => {
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
  /** What the server said that refused it as no statement. */
  readonly refused: string | undefined;
}

/** Errors of texts, not of what they do. */
const unreadable = new Set([
  'ER_PARSE_ERROR',
  'ER_BAD_FIELD_ERROR',
  'ER_NON_UNIQ_ERROR',
  'ER_UNKNOWN_TABLE',
  'ER_NO_SUCH_TABLE',
  'ER_WRONG_FIELD_WITH_GROUP',
  'ER_OPERAND_COLUMNS',
]);

type Callback = (error: (Error & { readonly code?: string }) | null, ...answer: unknown[]) => void;

/** Changes a statement on its way to the server, until the test ends. One text may hold several. */
function mutate({ statement, from, to }: StatementMutant): () => Sent {
  let times = 0;
  let refused: string | undefined;
  const change = (text: string): string =>
    text
      .split(/(?=-- name: )/)
      .map((part) => {
        const [, name = ''] = /^-- name: (\w+)/.exec(part) ?? [];
        if (!statement.test(name) || !part.includes(from)) return part;
        times += 1;
        return part.replaceAll(from, to);
      })
      .join('');
  // Connections of pools have it too.
  const prototype = Object.getPrototypeOf(mysql.Connection.prototype) as {
    query: (this: unknown, options: { readonly sql: string }, told: Callback) => unknown;
  };
  // oxlint-disable-next-line typescript/unbound-method -- it is called with the connection below
  const query = prototype.query;
  const spy = vi.spyOn(prototype, 'query').mockImplementation(function (this: unknown, options, told) {
    const sql = typeof options.sql === 'string' ? change(options.sql) : undefined;
    if (sql === undefined || sql === options.sql) return query.call(this, options, told);
    return query.call(this, { ...options, sql }, (error, ...answer) => {
      if (error && unreadable.has(error.code ?? '')) refused = `${error.code}: ${error.message}`;
      told(error, ...answer);
    });
  });
  onTestFinished(() => spy.mockRestore());
  return () => ({ times, refused });
}
