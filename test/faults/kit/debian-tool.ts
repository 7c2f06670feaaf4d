import { execFile } from 'node:child_process';
import { access, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { withStartLock } from '../../../lib/embedded/start-lock.js';

const run = promisify(execFile);
const cache = join(resolve('node_modules/.cache'), 'tarefa-debian');

/** A program or library of Debian's, and the environment that it finds its own libraries with. */
export interface DebianFile {
  readonly path: string;
  readonly env: { readonly LD_LIBRARY_PATH: string };
}

/**
 * Finds a file of a Debian package: where it is installed, else in the package, which is downloaded and unpacked
 * into a cache. Needs no rights of its own.
 *
 * @param file its place below the root, such as `usr/sbin/pgbouncer`
 * @param packages the one that holds it, and those with the libraries it needs
 */
export async function debianFile(file: string, packages: readonly string[]): Promise<DebianFile> {
  const installed = `/${file}`;
  if (await exists(installed)) return { path: installed, env: { LD_LIBRARY_PATH: '' } };
  const root = join(cache, packages.join('+'));
  await mkdir(cache, { recursive: true });
  await withStartLock(cache, async () => {
    if (!(await exists(root))) await unpack(packages, root);
  });
  const path = join(root, file);
  if (!(await exists(path))) throw new Error(`the packages ${packages.join(', ')} do not hold ${file}`);
  const folders = ['usr/lib', `usr/lib/${triplet()}`, 'lib', `lib/${triplet()}`, dirname(file)];
  return { path, env: { LD_LIBRARY_PATH: folders.map((folder) => join(root, folder)).join(':') } };
}

async function unpack(packages: readonly string[], root: string): Promise<void> {
  const folder = `${root}.new`;
  await rm(folder, { recursive: true, force: true });
  await mkdir(join(folder, 'root'), { recursive: true });
  try {
    await download(packages, folder);
    for (const name of await readdir(folder)) {
      if (name.endsWith('.deb')) await run('dpkg-deb', ['-x', join(folder, name), join(folder, 'root')]);
    }
  } catch (cause) {
    throw new Error(
      `this test needs ${packages.join(', ')} of Debian, which are neither installed nor could be downloaded with ` +
        `apt-get: install them (${packages[0]} at least) and run it again`,
      { cause },
    );
  }
  await rename(join(folder, 'root'), root);
  await rm(folder, { recursive: true, force: true });
}

/** With the machine's own lists where it has some, else with lists of our own. */
async function download(packages: readonly string[], cwd: string): Promise<void> {
  const args = ['download', ...packages];
  try {
    await run('apt-get', args, { cwd });
  } catch {
    for (const name of ['state/lists/partial', 'cache/archives/partial']) {
      await mkdir(join(cwd, name), { recursive: true });
    }
    const own = [
      ...['-o', `Dir::State=${join(cwd, 'state')}`, '-o', `Dir::Cache=${join(cwd, 'cache')}`],
      ...['-o', 'Dir::State::status=/var/lib/dpkg/status', '-o', 'APT::Sandbox::User='],
    ];
    await run('apt-get', [...own, 'update'], { cwd });
    await run('apt-get', [...own, ...args], { cwd });
  }
}

function triplet(): string {
  return `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
