import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { makeTemporaryFolder } from '../support/folders.js';
import { runNode } from './run-node.js';

// The scripts by which the gate runs tests, in a folder with files of their own.

const root = join(import.meta.dirname, '../..');
const config = `export default {
  cacheDir: 'cache',
  test: { projects: [{ test: { name: 'made-up', include: ['*.test.mjs'] } }] },
};`;

let folder: string;

beforeAll(async () => {
  folder = await makeTemporaryFolder();
  await cp(join(root, 'scripts'), join(folder, 'scripts'), { recursive: true });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  await writeFile(join(folder, 'vitest.config.mjs'), config);
});

/** A file with a test that passes at its second run, and one that never does where it is `broken`. */
function writeTest(name: string, { broken = false } = {}): Promise<void> {
  const mark = JSON.stringify(join(folder, `${name}.mark`));
  const lines = [
    `import { existsSync, writeFileSync } from 'node:fs';`,
    `import { test } from 'vitest';`,
    `test('passes the second time', () => {`,
    `  if (existsSync(${mark})) return;`,
    `  writeFileSync(${mark}, '');`,
    `  throw new Error('not yet');`,
    `});`,
    ...(broken ? [`test('never passes', () => { throw new Error('never'); });`] : []),
  ];
  return writeFile(join(folder, `${name}.test.mjs`), lines.join('\n'));
}

/** Runs the files whose names begin like that; answers how that ended, its closing lines, and how often Vitest ran. */
async function run(
  names: string,
): Promise<{ readonly code: number; readonly lines: string; readonly runs: number }> {
  const closing = join(folder, 'closing');
  const args = ['made-up', '--closing', closing, names];
  const { code, output } = await runNode(join(folder, 'scripts/run-tests.mjs'), args);
  return { code, lines: await readFile(closing, 'utf8'), runs: output.split(' RUN ').length - 1 };
}

test('a file that passes when it runs again alone is named as unstable, with its test and its error', async () => {
  await writeTest('unstable');
  const { code, lines, runs } = await run('unstable');
  expect({ code, runs }).toEqual({ code: 0, runs: 2 });
  expect(lines).toMatch(
    /^UNSTABLE, passed when run again alone: \S*unstable\.test\.mjs > passes the second time: Error: not yet$/m,
  );
  expect(lines).toMatch(/^1 passed, 0 failed, 1 unstable$/m);
});

test('one that fails again fails the run', async () => {
  await writeTest('broken', { broken: true });
  const { code, lines, runs } = await run('broken');
  expect({ code, runs }).toEqual({ code: 1, runs: 2 });
  expect(lines).toMatch(/^FAIL \S*broken\.test\.mjs > never passes: Error: never$/m);
});

test('more than three that fail are no accident, and get no second chance', async () => {
  for (const name of ['many-1', 'many-2', 'many-3', 'many-4']) await writeTest(name);
  const { code, lines, runs } = await run('many');
  expect({ code, runs }).toEqual({ code: 1, runs: 1 });
  expect(lines).toMatch(/^0 passed, 4 failed, 0 unstable$/m);
});
