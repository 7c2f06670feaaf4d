import { chmod, lstat, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Machine } from './machine.js';

const writableByOthers = 0o022;
const sticky = 0o1000;

/**
 * Makes `folder` if it is missing, and tells whether nobody but this user can have put anything into it: under
 * /var/tmp another user may have made it first and be waiting for us to run or to fill what lies there.
 */
export async function isTrustedFolder(machine: Machine, folder: string): Promise<boolean> {
  try {
    const made = await mkdir(folder, { recursive: true });
    // Whatever the umask is: the server's user has to pass.
    if (made !== undefined) await chmod(folder, 0o755);
    if (machine.uid === undefined) return true;
    const parent = await lstat(dirname(folder));
    const own = await lstat(folder);
    const parentIsSafe = (parent.mode & writableByOthers) === 0 || (parent.mode & sticky) !== 0;
    return (
      parentIsSafe && own.isDirectory() && own.uid === machine.uid && (own.mode & writableByOthers) === 0
    );
  } catch {
    return false;
  }
}
