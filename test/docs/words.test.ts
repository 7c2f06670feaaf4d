import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { makeTemporaryFolder, removeTemporaryFolders } from '../support/folders.js';

const script = join(import.meta.dirname, '../../scripts/check-words.mjs');

afterAll(removeTemporaryFolders);

test('worn-out words are named by their place, with the word to write instead', async () => {
  const file = join(await makeTemporaryFolder(), 'page.md');
  const text = [
    'It starts anew.',
    'What else there is besides what it does.',
    'It was told besides.',
    '/** Answers the id. */',
  ];
  writeFileSync(file, text.join('\n'));
  const { status, stdout } = spawnSync(process.execPath, [script, file], { encoding: 'utf8' });
  expect(status).toBe(1);
  expect(stdout.trim().split('\n')).toEqual([
    `${file}:1: "anew": again; a table is rebuilt, a number starts over`,
    `${file}:3: "besides": also, as well`,
    `${file}:4: "/** Answers": Returns`,
  ]);
});
