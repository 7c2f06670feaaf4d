import { rm } from 'node:fs/promises';
import { TarefaError } from '../errors.js';
import {
  canReach,
  checkVersion,
  clusterVersion,
  initialiseCluster,
  makeEmptyData,
  readPassword,
  returnToUser,
} from './cluster.js';
import {
  directoryElsewhere,
  findDataDirectory,
  makeHome,
  writeNotes,
  type DataDirectory,
} from './data-directory.js';
import type { Machine } from './machine.js';
import { makeRunnable, type RunnableBinaries } from './postgres-binaries.js';
import type { PostgresBinaries } from './postgres-package.js';
import { findServer, stopServer } from './server-process.js';
import { chooseServerUser, type ServerUser } from './server-user.js';
import { isTrustedFolder } from './trusted-folder.js';

/** All that is needed to start a server: files, programs, and whom to run them as. */
export interface Installation {
  readonly directory: DataDirectory;
  readonly binaries: RunnableBinaries;
  /** Undefined: ourselves. */
  readonly user: ServerUser | undefined;
  readonly password: string;
}

/** Finds or makes the installation of the folder `wanted`. */
export async function prepareInstallation(
  machine: Machine,
  packaged: PostgresBinaries,
  wanted: string,
  log: (line: string) => void,
): Promise<Installation> {
  const found = await findDataDirectory(wanted);
  const user = await chooseServerUser(machine, found.data);
  const binaries = await makeRunnable(machine, packaged, user, log);
  const version = await clusterVersion(found);
  const directory =
    version === undefined
      ? await makeInstallation(machine, found, binaries, user, log)
      : await checkInstallation(found, version, binaries, user);
  await writeNotes(directory);
  return { directory, binaries, user, password: await readPassword(directory) };
}

async function checkInstallation(
  directory: DataDirectory,
  version: number,
  binaries: RunnableBinaries,
  user: ServerUser | undefined,
): Promise<DataDirectory> {
  checkVersion(directory, version, binaries);
  if (user === undefined) return directory;
  await returnToUser(directory, user);
  if (await canReach(binaries, user, directory.data)) return directory;
  throw new TarefaError(
    'EMBEDDED_START_FAILED',
    `PostgreSQL runs as ${user.name}, who owns ${directory.data} but can no longer get there. Let others ` +
      `pass through the folders above it (chmod o+x), or delete ${directory.wanted} to begin with an ` +
      'empty database.',
  );
}

async function makeInstallation(
  machine: Machine,
  found: DataDirectory,
  binaries: RunnableBinaries,
  user: ServerUser | undefined,
  log: (line: string) => void,
): Promise<DataDirectory> {
  const directory = user === undefined ? found : await findReachable(machine, found, binaries, user);
  log(`creating a database with PostgreSQL ${binaries.serverVersion} in ${directory.home}`);
  await initialiseCluster(directory, binaries, user);
  return directory;
}

/** The directory itself, or one elsewhere, where the server's user can work. */
async function findReachable(
  machine: Machine,
  found: DataDirectory,
  binaries: RunnableBinaries,
  user: ServerUser,
): Promise<DataDirectory> {
  if (await canWorkIn(found, binaries, user)) return found;
  for (const shared of machine.sharedFolders) {
    if (!(await isTrustedFolder(machine, shared))) continue;
    const elsewhere = directoryElsewhere(found.wanted, shared);
    // Its folder was deleted while a killed run's server went on.
    const forgotten = findServer(elsewhere);
    if (forgotten !== undefined) await stopServer(forgotten, elsewhere, binaries);
    await makeHome(elsewhere);
    if (await canWorkIn(elsewhere, binaries, user)) return elsewhere;
  }
  throw new TarefaError(
    'EMBEDDED_START_FAILED',
    `PostgreSQL refuses to run as root, and ${user.name}, the user it runs as instead, can use neither ` +
      `${found.wanted} nor ${machine.sharedFolders.join(', ')}. Choose a dataDir that other users can reach.`,
  );
}

async function canWorkIn(
  directory: DataDirectory,
  binaries: RunnableBinaries,
  user: ServerUser,
): Promise<boolean> {
  try {
    const folder = await makeEmptyData(directory, user);
    const reached = await canReach(binaries, user, folder);
    await rm(folder, { recursive: true });
    return reached;
  } catch {
    // A mount that refuses to change owners, or a read-only disk.
    return false;
  }
}
