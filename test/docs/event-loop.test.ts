import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scenarios } from '../../bench/scenarios.js';

const root = join(import.meta.dirname, '../..');

test('each rule of the guide has the test and the bench that the page names', async () => {
  const page = await readFile(join(root, 'docs/event-loop.md'), 'utf8');
  const rows = page.matchAll(/^\| (R\d+) .*\| *([^|\n]*?) *\| *(?:`([^|\n]*)`)? *\|$/gm);
  const rules = [...rows].map(([, rule = '', named = '', bench]) => ({ rule, named, bench }));
  expect(rules.map(({ rule }) => rule)).toEqual(Array.from({ length: 23 }, (_, index) => `R${index + 1}`));
  const [missing, untested]: [string[], string[]] = [[], []];
  for (const { rule, named, bench } of rules) {
    if (bench !== undefined && !scenarios.some(({ name }) => name === bench)) missing.push(rule);
    const tests = [...named.matchAll(/`([^`]+)`: (.+?)(?=; `|$)/g)];
    if (tests.length === 0) untested.push(rule);
    for (const [, file = '', title = ''] of tests) {
      const text = await readFile(join(root, `test/${file}.test.ts`), 'utf8');
      if (!text.includes(`'${title}'`)) missing.push(rule);
    }
  }
  expect({ missing, untested }).toEqual({ missing: [], untested: [] });
});
