import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runNode } from './run-node.js';

const root = join(import.meta.dirname, '../..');

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

test('a version of Nest that is not pinned is refused before anything is installed', async () => {
  const { code, errors } = await runNode('scripts/test-nest.mjs', ['--nest', '11.0,10']);
  expect(errors).toBe('--nest knows 11, 11.0, 12.0, not "10"\n');
  expect(code).toBe(2);
});

test('the oldest and the newest of each major version that the peer ranges allow are tested', async () => {
  const { peerDependencies, devDependencies } = await readManifest('package.json');
  const ranges = peerDependencies['@nestjs/core']?.split(' || ') ?? [];
  expect(ranges).toEqual(['^11.0.0', '^12.0.0']);
  expect(devDependencies['@nestjs/core']).toMatch(/^12\./);
  const pinned = await Promise.all(
    (await readdir(join(root, 'test/versions/nest'))).map(async (name) => {
      const { dependencies } = await readManifest(`test/versions/nest/${name}/package.json`);
      expect(dependencies['@nestjs/core']).toMatch(new RegExp(`^${name.replace('.', '\\.')}\\.`));
      expect(dependencies['@nestjs/common']).toBe(dependencies['@nestjs/core']);
      return name;
    }),
  );
  // The newest 12 is the repository's own.
  expect(new Set(pinned)).toEqual(new Set(['11.0', '11', '12.0']));
  const { dependencies: oldest } = await readManifest('test/versions/nest/11.0/package.json');
  expect(oldest['@nestjs/core']).toBe('11.0.0');
  expect(peerDependencies['@nestjs/schedule']).toContain(`^${oldest['@nestjs/schedule']} ||`);
});

test('CI runs the oldest Nest', async () => {
  expect(await readFile(join(root, '.ci/run'), 'utf8')).toContain('scripts/test-nest.mjs --nest 11.0 ');
});

async function readManifest(path: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(root, path), 'utf8')) as Manifest;
}
