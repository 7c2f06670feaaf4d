import { createHash } from 'node:crypto';
import { copyFile, mkdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { withStartLock } from '../../lib/embedded/start-lock.js';
import { npm } from './npm.js';

const cache = join(resolve(import.meta.dirname, '../..'), 'node_modules/.cache/tarefa-applications');

/**
 * The packages that `<name>/package.json` beside this file asks for, as its lock file says. They are no dependencies of
 * the repository: installed below `node_modules` when a test first needs them, and used again until the lock changes.
 *
 * @returns the folder with package.json and node_modules; not to be changed
 */
export async function installPackages(name: string): Promise<string> {
  const wanted = join(import.meta.dirname, name);
  const lock = await readFile(join(wanted, 'package-lock.json'));
  const hash = createHash('sha256').update(lock).digest('hex').slice(0, 16);
  const folder = join(cache, `${name}-${hash}`);
  await mkdir(cache, { recursive: true });
  await withStartLock(cache, async () => {
    const installed = await stat(folder).catch(() => undefined);
    if (installed === undefined) await install(wanted, folder);
  });
  return folder;
}

/** Under another name until it is complete: a run may be killed in between. */
async function install(wanted: string, folder: string): Promise<void> {
  const partial = `${folder}.new`;
  await rm(partial, { recursive: true, force: true });
  await mkdir(partial);
  for (const file of ['package.json', 'package-lock.json']) {
    await copyFile(join(wanted, file), join(partial, file));
  }
  await npm(['ci', '--ignore-scripts', '--no-audit', '--no-fund'], partial);
  await rename(partial, folder);
}
