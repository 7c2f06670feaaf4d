import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

test('each rule of the guide has the test that the page names', async () => {
  const page = await readFile(join(root, 'docs/event-loop.md'), 'utf8');
  const rules = [...page.matchAll(/^\| (R\d+) .*\| *([^|\n]*?) *\|$/gm)].map(([, rule = '', named = '']) => ({
    rule,
    named,
  }));
  expect(rules.map(({ rule }) => rule)).toEqual(Array.from({ length: 23 }, (_, index) => `R${index + 1}`));
  const missing: string[] = [];
  for (const { rule, named } of rules) {
    const [, file, title = ''] = /^`(.*)`: (.*)$/.exec(named) ?? [];
    if (file === undefined) continue;
    const text = await readFile(join(root, `test/${file}.test.ts`), 'utf8');
    if (!text.includes(title)) missing.push(rule);
  }
  expect(missing).toEqual([]);
});
