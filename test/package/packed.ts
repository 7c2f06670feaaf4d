import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, readdir, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { makeTemporaryFolder } from '../support/folders.js';

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

/** Builds and packs a copy of the library, so that the checkout stays as it is, and unpacks the tarball. */
export async function packLibrary(): Promise<PackedLibrary> {
  const staging = await makeTemporaryFolder();
  const parts = ['lib', 'docs', 'README.md', 'LICENSE', 'CHANGELOG.md', 'package.json', 'tsconfig.json'];
  for (const part of parts) await cp(join(root, part), join(staging, part), { recursive: true });
  await symlink(join(root, 'node_modules'), join(staging, 'node_modules'), 'junction');
  // What must not come along.
  for (const name of ['test/some.test.ts', 'sample-app/main.ts', '.env', '.tarefa/data/file']) {
    await mkdir(dirname(join(staging, name)), { recursive: true });
    await writeFile(join(staging, name), '');
  }
  await compile(join(staging, 'lib'));
  const { stdout } = await npm(['pack', '--json', '--ignore-scripts', '--offline'], staging);
  const [packed] = JSON.parse(stdout) as { filename: string }[];
  if (!packed) throw new Error(`npm pack answered ${stdout}`);
  await execute('tar', ['-xzf', packed.filename], { cwd: staging });
  const folder = join(staging, 'package');
  return { folder, files: await listFiles(folder), manifest: await readManifest(folder) };
}

/**
 * A project outside the repository with the library as npm would install it: itself, its dependencies and its
 * peers, and nothing else that the repository happens to have. Answers its folder.
 */
export async function makeProject(library: PackedLibrary): Promise<string> {
  const project = await makeTemporaryFolder();
  const modules = join(project, 'node_modules');
  await cp(library.folder, join(modules, 'nestjs-tarefa'), { recursive: true });
  const { dependencies, peerDependencies, peerDependenciesMeta } = library.manifest;
  const peers = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional);
  for (const name of [...Object.keys(dependencies), ...peers, '@types/node']) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(join(root, 'node_modules', name), join(modules, name), 'junction');
  }
  await writeFile(join(project, 'package.json'), '{ "name": "consumer", "private": true, "type": "module" }');
  return project;
}

/** Runs the compiler on a folder with a tsconfig.json; rejects with what it complains of. */
export async function compile(folder: string): Promise<void> {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  try {
    await execute(process.execPath, [tsc, '-p', folder, '--pretty', 'false'], { cwd: folder });
  } catch (error) {
    const output = error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error);
    throw new Error(`tsc refused ${folder}:\n${output}`, { cause: error });
  }
}

async function npm(args: readonly string[], cwd: string): Promise<{ stdout: string }> {
  const cli = process.env['npm_execpath'];
  return cli?.endsWith('npm-cli.js')
    ? execute(process.execPath, [cli, ...args], { cwd })
    : execute('npm', args, { cwd, shell: process.platform === 'win32' });
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
