import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, readdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import { withStartLock } from '../../lib/embedded/start-lock.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { npm } from './npm.js';

const root = resolve(import.meta.dirname, '../..');
const execute = promisify(execFile);

/** What of package.json matters here. */
export interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** The package as npm would publish it, unpacked. */
export interface PackedLibrary {
  readonly folder: string;
  /** Every file in it, with slashes. */
  readonly files: readonly string[];
  readonly manifest: Manifest;
}

/**
 * Builds and packs a copy of the library, so that the checkout stays as it is, and unpacks the tarball: once for all
 * files of a run.
 */
export async function packLibrary(): Promise<PackedLibrary> {
  const staging = join(inject('buildDir'), 'packed');
  const folder = join(staging, 'package');
  await mkdir(staging, { recursive: true });
  await withStartLock(staging, async () => {
    const packed = await stat(folder).catch(() => undefined);
    if (packed === undefined) await pack(join(staging, 'source'), staging);
  });
  return { folder, files: await listFiles(folder), manifest: await readManifest(folder) };
}

async function pack(source: string, destination: string): Promise<void> {
  await rm(source, { recursive: true, force: true });
  const texts = ['README.md', 'LICENSE', 'CHANGELOG.md', 'package.json', 'tsconfig.json'];
  const parts = ['lib', 'schematics', 'docs', ...texts];
  for (const part of parts) await cp(join(root, part), join(source, part), { recursive: true });
  await symlink(join(root, 'node_modules'), join(source, 'node_modules'), 'junction');
  // What must not come along.
  for (const name of ['test/some.test.ts', 'sample-app/main.ts', '.env', '.tarefa/data/file']) {
    await mkdir(dirname(join(source, name)), { recursive: true });
    await writeFile(join(source, name), '');
  }
  // `npm run check` looks at its types, and so do the projects that use the declarations.
  await compile(join(source, 'lib'), ['--noCheck']);
  await execute(process.execPath, [join(root, 'scripts/build-page.mjs'), join(source, 'dist/lib')]);
  const answer = await npm(['pack', '--json', '--ignore-scripts', '--offline'], source);
  const [packed] = JSON.parse(answer) as { filename: string }[];
  if (!packed) throw new Error(`npm pack answered ${answer}`);
  await execute('tar', ['-xzf', packed.filename], { cwd: source });
  await rename(join(source, 'package'), join(destination, 'package'));
}

/**
 * A project outside the repository with the library as npm would install it: itself, its dependencies and its
 * peers, the packages named, and nothing else that the repository happens to have. Returns its folder.
 */
export async function makeProject(library: PackedLibrary, packages: readonly string[] = []): Promise<string> {
  const project = await makeTemporaryFolder();
  const modules = join(project, 'node_modules');
  await cp(library.folder, join(modules, 'nestjs-tarefa'), { recursive: true });
  const { dependencies, peerDependencies, peerDependenciesMeta } = library.manifest;
  const peers = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional);
  for (const name of [...Object.keys(dependencies), ...peers, '@types/node', ...packages]) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(join(root, 'node_modules', name), join(modules, name), 'junction');
  }
  await writeFile(join(project, 'package.json'), '{ "name": "consumer", "private": true, "type": "module" }');
  return project;
}

/** Runs the compiler on a folder with a tsconfig.json; rejects with what it complains of. */
export async function compile(folder: string, options: readonly string[] = []): Promise<void> {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  try {
    await execute(process.execPath, [tsc, '-p', folder, '--pretty', 'false', ...options], { cwd: folder });
  } catch (error) {
    const output = error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error);
    throw new Error(`tsc refused ${folder}:\n${output}`, { cause: error });
  }
}

async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .sort();
}

async function readManifest(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest;
}
