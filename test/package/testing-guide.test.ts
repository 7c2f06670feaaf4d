import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { blocksIn } from '../docs/documents.js';
import { useDatabase } from '../support/database.js';
import { compile, makeProject, packLibrary } from './packed.js';

const execute = promisify(execFile);
const compilerOptions = {
  module: 'nodenext',
  target: 'es2023',
  types: ['node'],
  strict: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
};
const database = await useDatabase();
let project: string;

beforeAll(async () => {
  project = await makeProject(await packLibrary(), ['@nestjs/testing']);
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  for (const { place, note, text } of blocksIn('ts')) {
    if (place.includes('guides/testing.md') && note.endsWith('.test.ts'))
      await writeFile(join(project, note), text);
  }
  await compile(project);
}, 180_000);

test.each([
  { file: 'orders.test.js', tests: 4, env: true },
  { file: 'receipts.test.js', tests: 1, env: false },
  { file: 'whole.test.js', tests: 1, env: true },
])(
  'the tests of the testing guide pass: $file',
  async ({ file, tests, env }) => {
    const { stdout } = await execute(process.execPath, ['--test', '--test-reporter=tap', file], {
      cwd: project,
      // Without a database there is none to go to.
      env: { ...process.env, ...(env ? { DATABASE_URL: database.url } : {}), NODE_TEST_CONTEXT: undefined },
    });
    expect(stdout).toContain(`# pass ${tests}\n# fail 0`);
  },
  60_000,
);
