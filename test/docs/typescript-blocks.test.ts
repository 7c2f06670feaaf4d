import { beforeAll, expect, test } from 'vitest';
import { blocksIn, type CodeBlock } from './documents.js';
import { checkBlocks } from './typescript.js';

/** Compiled along with the others, to know that mistakes are seen. */
const mistaken: CodeBlock = {
  place: 'docs/example.md:10',
  language: 'ts',
  note: '',
  heading: '',
  text: "import { QueueClient } from 'nestjs-tarefa';\n\nnew QueueClient(1);\nqueue.nothing();",
};
let problems: readonly string[];

beforeAll(() => {
  problems = checkBlocks([...blocksIn('ts'), mistaken]);
}, 180_000);

test('every TypeScript block of the documents compiles', () => {
  expect(blocksIn('ts').length).toBeGreaterThan(20);
  expect(problems.filter((problem) => !problem.startsWith('docs/example.md'))).toEqual([]);
});

test('a mistake in a block is found, and its line named', () => {
  expect(problems.filter((problem) => problem.startsWith('docs/example.md'))).toEqual([
    'docs/example.md:13: Expected 2-3 arguments, but got 1.',
    "docs/example.md:14: Property 'nothing' does not exist on type 'QueueClient'.",
  ]);
});
