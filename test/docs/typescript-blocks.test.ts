import { expect, test } from 'vitest';
import { blocksIn } from './documents.js';
import { checkBlocks } from './typescript.js';

test('every TypeScript block of the documents compiles', () => {
  expect(blocksIn('ts').length).toBeGreaterThan(20);
  expect(checkBlocks()).toEqual([]);
}, 120_000);

test('a block with a mistake is found, and its line named', () => {
  const mistaken = {
    place: 'docs/example.md:10',
    language: 'ts',
    note: '',
    heading: '',
    text: "import { QueueClient } from 'nestjs-tarefa';\n\nnew QueueClient(1);",
  };
  const [problem] = checkBlocks([mistaken]);
  expect(problem).toMatch(/^docs\/example\.md:13: Expected 2-3 arguments/);
}, 60_000);
