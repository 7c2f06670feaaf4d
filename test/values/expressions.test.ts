import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { analyse } from 'scslre';
import ts from 'typescript';
import { expect, test } from 'vitest';

/** May take longer than their text is long, because the text is never a stranger's; and whose it is. */
const slow: Readonly<Record<string, string>> = {
  'embedded/process-table.ts': 'a line of `ps`',
  'options/dashboard-options.ts': 'a path in the options of the application',
  'storage/mysql/singlestore/rows-of-json.ts': 'a statement of the library',
  'storage/mysql/singlestore/singlestore-sql.ts': 'a statement of the library',
};

/** Make expressions of texts, which cannot be read here; and of which. */
const made: Readonly<Record<string, string>> = {
  'observability/clean-text.ts': 'a class of characters',
  'storage/mysql/transaction-errors.ts': 'the name of a savepoint',
  'storage/postgres/adoption/channel-of.ts': 'names in a function that an operator adopts',
  'storage/session-traces.ts': 'words of the library',
};

interface Expression {
  readonly file: string;
  /** Undefined when it is made of texts. */
  readonly text: string | undefined;
}

const lib = resolve(import.meta.dirname, '../../lib');
const expressions = readdirSync(lib, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.[jt]s$/.test(name))
  .flatMap((name) => expressionsIn(name.replaceAll('\\', '/')));

test('no regular expression of the library can take longer than its text is long, but for those that strangers never feed', () => {
  expect(expressions.length).toBeGreaterThan(200);
  const found = expressions.flatMap(({ file, text }) => (text !== undefined && isSlow(text) ? [file] : []));
  expect([...new Set(found)].toSorted()).toEqual(Object.keys(slow));
});

test('expressions are written down, so that they can be read, but for those of known texts', () => {
  const found = expressions.flatMap(({ file, text }) => (text === undefined ? [file] : []));
  expect([...new Set(found)].toSorted()).toEqual(Object.keys(made));
});

test('one that takes a power of its text, or its square, is found', () => {
  expect([String.raw`/(a+)+$/`, String.raw`/^(\w+\s?)*$/`, String.raw`/=+$/`].map(isSlow)).toEqual([
    true,
    true,
    true,
  ]);
  expect([String.raw`/^[a-z]+$/`, String.raw`/={1,2}$/`].map(isSlow)).toEqual([false, false]);
});

function isSlow(text: string): boolean {
  const end = text.lastIndexOf('/');
  const { reports } = analyse(
    { source: text.slice(1, end), flags: text.slice(end + 1) },
    { reportTypes: { Move: true } },
  );
  return reports.length > 0;
}

function expressionsIn(file: string): Expression[] {
  const found: Expression[] = [];
  const source = ts.createSourceFile(
    file,
    readFileSync(join(lib, file), 'utf8'),
    ts.ScriptTarget.Latest,
    true,
  );
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) found.push({ file, text: node.text });
    const isMade =
      (ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText(source) === 'RegExp';
    if (isMade) found.push({ file, text: undefined });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}
