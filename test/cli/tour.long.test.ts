import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');

test('the sessions of docs/cli.md are those of today; `npm run docs:cli` records them', async () => {
  const script = join(root, 'scripts/record-cli.mjs');
  const cli = join(inject('buildDir'), 'lib/cli/main.js');
  const args = [script, '--print', '--cli', cli, '--url', inject('databaseUrl')];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { cwd: root });
  expect(stderr).toBe('');
  expect(stdout).toBe(await readFile(join(root, 'docs/cli.md'), 'utf8'));
}, 120_000);
