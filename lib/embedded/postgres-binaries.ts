import { randomUUID } from 'node:crypto';
import { chmod, copyFile, mkdir, readdir, readlink, rename, rm, stat, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { TarefaError } from '../errors.js';
import type { Machine } from './machine.js';
import { completeInstallation, unsupported, type PostgresBinaries } from './postgres-package.js';
import { runProgram } from './run-program.js';
import type { ServerUser } from './server-user.js';
import { isTrustedFolder } from './trusted-folder.js';

/** Programs that were seen to run as the server's user, and the version they told. */
export interface RunnableBinaries extends PostgresBinaries {
  readonly serverVersion: string;
  readonly major: number;
}

/**
 * The programs of the package when `user` can run them where they are, else a copy that he can: root's checkout
 * is often closed to every other user, and an installation may be both incomplete and write-protected.
 */
export async function makeRunnable(
  machine: Machine,
  packaged: PostgresBinaries,
  user: ServerUser | undefined,
  log: (line: string) => void,
): Promise<RunnableBinaries> {
  await completeInstallation(packaged).catch(() => undefined);
  const refusals: string[] = [];
  const inPlace = await tryBinaries(machine, packaged, user, refusals);
  if (inPlace !== undefined) return inPlace;
  for (const shared of machine.sharedFolders) {
    if (!(await isTrustedFolder(machine, shared))) {
      refusals.push(`${shared}: cannot be created, or others may write there`);
      continue;
    }
    const copied = await copyBinaries(machine, packaged, shared, log).catch((error: Error) => {
      refusals.push(`${shared}: ${error.message}`);
      return undefined;
    });
    const runnable = copied && (await tryBinaries(machine, copied, user, refusals));
    if (runnable !== undefined) return runnable;
  }
  throw new TarefaError(
    'EMBEDDED_START_FAILED',
    `PostgreSQL's programs cannot be run as ${user?.name ?? 'this user'}:\n  ${refusals.join('\n  ')}`,
  );
}

async function tryBinaries(
  machine: Machine,
  binaries: PostgresBinaries,
  user: ServerUser | undefined,
  refusals: string[],
): Promise<RunnableBinaries | undefined> {
  const { code, output, error } = await runProgram(binaries.postgres, ['--version'], user);
  const [, serverVersion, major] = /\(PostgreSQL\) ((\d+)\S*)/.exec(output) ?? [];
  if (code === 0 && serverVersion !== undefined) return { ...binaries, serverVersion, major: Number(major) };
  // The file is there, and yet not found: its loader is missing, as glibc's is on Alpine Linux.
  if (error?.code === 'ENOENT' && (await stat(binaries.postgres).catch(() => undefined)) !== undefined) {
    throw unsupported(machine, 'Its programs need glibc, which this system lacks.', { cause: error });
  }
  refusals.push(
    `${binaries.postgres}: ${error?.message ?? (output === '' ? `ended with code ${code}` : output)}`,
  );
  return undefined;
}

async function copyBinaries(
  machine: Machine,
  packaged: PostgresBinaries,
  shared: string,
  log: (line: string) => void,
): Promise<PostgresBinaries> {
  const name = `postgres-${packaged.packageVersion}-${machine.platform}-${machine.arch}`;
  const root = join(shared, name);
  const copy = at(join(root, basename(packaged.folder)), packaged);
  if ((await stat(root).catch(() => undefined)) !== undefined) return copy;
  log(`copying PostgreSQL's programs to ${root}, because they cannot be run in ${packaged.folder}`);
  // Renamed when complete, so that a folder that is there is whole.
  const unfinished = join(shared, `${name}.${randomUUID()}`);
  try {
    await copyReadable(packaged.folder, join(unfinished, basename(packaged.folder)));
    await chmod(unfinished, 0o755);
    await completeInstallation(at(join(unfinished, basename(packaged.folder)), packaged));
    await rename(unfinished, root);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    // Another process may have been quicker.
    if ((await stat(root).catch(() => undefined)) === undefined) throw error;
  }
  return copy;
}

function at(folder: string, packaged: PostgresBinaries): PostgresBinaries {
  const program = (path: string): string => join(folder, 'bin', basename(path));
  return {
    packageVersion: packaged.packageVersion,
    folder,
    postgres: program(packaged.postgres),
    initdb: program(packaged.initdb),
    pgCtl: program(packaged.pgCtl),
  };
}

/** Copies a folder so that everybody can read it, whatever the umask was when npm made it. */
async function copyReadable(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  await chmod(to, 0o755);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (entry.isDirectory()) await copyReadable(source, target);
    else if (entry.isSymbolicLink()) await symlink(await readlink(source), target);
    else if (!entry.name.endsWith('.a')) {
      await copyFile(source, target);
      await chmod(target, basename(from) === 'bin' ? 0o755 : 0o644);
    }
  }
}
