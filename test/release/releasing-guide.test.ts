import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { documentAt, pathOf } from '../docs/documents.js';

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, { readonly steps: readonly { readonly run?: string }[] }>>;
}

test('the workflow of the guide checks before it publishes, by commands that there are, and without a token', async () => {
  const [block] = documentAt('docs/releasing.md').blocks.filter(({ language }) => language === 'yaml');
  const { permissions, jobs } = parse(block?.text ?? '', { strict: true }) as Workflow;
  expect(permissions).toEqual({ contents: 'read', 'id-token': 'write' });
  expect(block?.text).not.toMatch(/secrets\.|token:(?! write)/i);
  const commands = jobs['release']?.steps.flatMap(({ run = [] }) => run) ?? [];
  expect(commands.at(-1)).toBe('npm publish');
  expect(commands.at(-2)).toBe('npm run release:check');
  const { scripts } = JSON.parse(await readFile(pathOf('package.json'), 'utf8')) as { scripts: object };
  const names = commands.flatMap((command) => /^npm run (\S+)$/.exec(command)?.[1] ?? []);
  expect(names.filter((name) => !(name in scripts))).toEqual([]);
});
