import { createRequire } from 'node:module';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';

/** What the embedded server has to know about the computer; tests put another one in its place. */
export interface Machine {
  readonly platform: string;
  readonly arch: string;
  /** User id of this process; undefined where there are none (Windows). */
  readonly uid: number | undefined;
  /** Text of the passwd file, from which the server's user is chosen when this process is root. */
  readonly passwdFile: string;
  /** Folders for what cannot stay beside the application, best first. */
  readonly sharedFolders: readonly string[];
  /** File that `id` means when `from` (a file) imports it; throws when it is not installed. */
  resolve(id: string, from: string): string;
}

/** The computer this process runs on. */
export const thisMachine: Machine = {
  platform: process.platform,
  arch: process.arch,
  uid: process.getuid?.(),
  passwdFile: '/etc/passwd',
  // Looked up when needed: a user without entry in the passwd file has no home, and asking for it throws.
  get sharedFolders() {
    return sharedFolders(process.getuid?.());
  },
  resolve: (id, from) => createRequire(from).resolve(id),
};

function sharedFolders(uid: number | undefined): readonly string[] {
  if (uid === 0) return ['/var/lib/tarefa', '/var/tmp/tarefa-root', join(tmpdir(), 'tarefa-root')];
  const temporary = join(tmpdir(), `tarefa-${uid ?? 'user'}`);
  try {
    return [join(homedir(), '.cache', 'tarefa'), temporary];
  } catch {
    return [temporary];
  }
}
