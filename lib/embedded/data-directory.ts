import { createHash } from 'node:crypto';
import { chownSync, statSync } from 'node:fs';
import { chmod, mkdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

/** Where a server's files are. */
export interface DataDirectory {
  /** The folder that was asked for. */
  readonly wanted: string;
  /** The folder with everything else: `wanted`, unless the server's user cannot get there. */
  readonly home: string;
  /** PostgreSQL's own files. */
  readonly data: string;
  readonly ownersFile: string;
  readonly passwordFile: string;
  readonly logFile: string;
}

const pointerName = 'location';
const originName = 'origin';

/** Makes the folder that was asked for, with its notes, and returns its real path. */
export async function makeFolder(dataDir: string): Promise<string> {
  const folder = resolve(dataDir);
  const made = await mkdir(folder, { recursive: true });
  // Whatever the umask is: the server's user has to pass. What is secret inside has modes of its own.
  if (made !== undefined) await chmod(folder, 0o755);
  return realpath(folder);
}

/**
 * The directory used for `wanted` until now: the one its pointer names, or itself. A pointer that came along
 * with a copy of the folder is not followed, as two applications would then share data without knowing.
 */
export async function findDataDirectory(wanted: string): Promise<DataDirectory> {
  const home = await readPointer(wanted);
  if (home === undefined) return directoryAt(wanted, wanted);
  const origin = await readLine(join(home, originName));
  if (origin === wanted) return directoryAt(wanted, home);
  // Without its note of origin the place is gone, or its files are no longer ours.
  if (origin === undefined || (await readPointer(origin)) === home) return directoryAt(wanted, wanted);
  await writeFile(join(home, originName), `${wanted}\n`);
  return directoryAt(wanted, home);
}

/** The directory for `wanted` below `shared`, not made yet. */
export function directoryElsewhere(wanted: string, shared: string): DataDirectory {
  const hash = createHash('sha256').update(wanted).digest('hex').slice(0, 16);
  return directoryAt(wanted, join(shared, hash));
}

/**
 * Makes the home of a directory elsewhere. What an earlier `wanted` folder of this name had there, before it was
 * deleted, is kept as `.previous` until the next time: deleting `.tarefa` is how one starts afresh.
 */
export async function makeHome(directory: DataDirectory): Promise<void> {
  const previous = `${directory.home}.previous`;
  await rm(previous, { recursive: true, force: true });
  await rename(directory.home, previous).catch(ignoreMissing);
  await mkdir(directory.home);
  // Others may pass through to the folders they own, but not list.
  await chmod(directory.home, 0o711);
  await writeFile(join(directory.home, originName), `${directory.wanted}\n`);
}

/** Lets the next start, and a reader of the folder, find the data. */
export async function writeNotes(directory: DataDirectory): Promise<void> {
  const elsewhere = directory.home !== directory.wanted;
  const pointer = join(directory.wanted, pointerName);
  if (elsewhere) await writeFile(pointer, `${directory.home}\n`);
  else await rm(pointer, { force: true });
  await writeFile(join(directory.wanted, '.gitignore'), '*\n');
  await writeFile(join(directory.wanted, 'README'), readme(directory, elsewhere));
}

/** What root writes into an ordinary user's folder is given to him, so that he can go on without root. */
export function keepOwner(file: string, folder: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(folder);
  if (uid !== 0) chownSync(file, uid, gid);
}

function readme(directory: DataDirectory, elsewhere: boolean): string {
  const place = elsewhere
    ? `The data is in ${directory.home}, because the\n` +
      'application was started by root, PostgreSQL refuses to run as root, and the user it runs as instead\n' +
      'cannot get into this folder. After a fresh start the former data stays beside it as .previous.'
    : 'The data is in data/.';
  return (
    `The embedded PostgreSQL of nestjs-tarefa, for development.\n\n${place}\n` +
    'server.log beside the data is what the server printed since its last start. Delete this folder while no\n' +
    'application uses it, and the next start begins with an empty database.\n'
  );
}

function directoryAt(wanted: string, home: string): DataDirectory {
  return {
    wanted,
    home,
    data: join(home, 'data'),
    ownersFile: join(home, 'owners.json'),
    passwordFile: join(home, 'password'),
    logFile: join(home, 'server.log'),
  };
}

function readPointer(wanted: string): Promise<string | undefined> {
  return readLine(join(wanted, pointerName));
}

async function readLine(file: string): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.trim() === '' ? undefined : text.trim();
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
