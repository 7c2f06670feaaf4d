import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { ModuleRef } from '@nestjs/core';
import { expect, inject, test } from 'vitest';
import { nestFolder } from '../support/compiled-folder.js';

test('tests and library have the same Nest, of the version that was asked for', async () => {
  const library = createRequire(join(inject('buildDir'), 'lib/index.js'));
  const manifest = join(dirname(library.resolve('@nestjs/core')), 'package.json');
  const { version } = JSON.parse(await readFile(manifest, 'utf8')) as { version: string };
  expect(version).toBe(await wantedVersion());
  expect((library('@nestjs/core') as { ModuleRef: unknown }).ModuleRef).toBe(ModuleRef);
});

/** That of the folder which npm run test:nest names, else that of package.json. */
async function wantedVersion(): Promise<string | undefined> {
  const folder = nestFolder ?? resolve(import.meta.dirname, '../..');
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
    dependencies: Readonly<Record<string, string>>;
    devDependencies?: Readonly<Record<string, string>>;
  };
  return (manifest.devDependencies ?? manifest.dependencies)['@nestjs/core'];
}
