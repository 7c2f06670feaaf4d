import { readFile, stat } from 'node:fs/promises';
import { TarefaError } from '../errors.js';
import type { Machine } from './machine.js';

/** The user under which the server runs when this process is root, as PostgreSQL refuses to run as root. */
export interface ServerUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/**
 * Whom the server runs as: undefined (ourselves) unless this process is root; then the owner of the existing
 * data directory, else `postgres`, else `nobody`. No user is ever created.
 */
export async function chooseServerUser(machine: Machine, data: string): Promise<ServerUser | undefined> {
  if (machine.uid !== 0) return undefined;
  const users = await readUsers(machine.passwdFile);
  const owner = await ownerOf(data);
  if (owner !== undefined) return users.find(({ uid }) => uid === owner.uid) ?? owner;
  const user = users.find(({ name }) => name === 'postgres') ?? users.find(({ name }) => name === 'nobody');
  if (user !== undefined) return user;
  throw new TarefaError(
    'EMBEDDED_START_FAILED',
    `PostgreSQL refuses to run as root, and ${machine.passwdFile} has neither a user "postgres" nor "nobody". ` +
      'Start the application as an ordinary user, or create one of these.',
  );
}

async function ownerOf(data: string): Promise<ServerUser | undefined> {
  const found = await stat(data).catch(() => undefined);
  if (found === undefined || found.uid === 0) return undefined;
  return { name: `uid ${found.uid}`, uid: found.uid, gid: found.gid };
}

async function readUsers(passwdFile: string): Promise<readonly ServerUser[]> {
  const text = await readFile(passwdFile, 'utf8').catch(() => '');
  return text.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':');
    if (name === undefined || uid === undefined || gid === undefined) return [];
    return [{ name, uid: Number(uid), gid: Number(gid) }];
  });
}
