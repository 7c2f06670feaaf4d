import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A small disk that only one server sees. */
export interface SmallDisk {
  /** Where it is, for that server. */
  readonly folder: string;
  /** Runs a server that sees it: as `user` when this process is root, else as ourselves. */
  readonly launcher: (user: { readonly uid: number; readonly gid: number } | undefined) => readonly string[];
  readonly remove: () => Promise<void>;
}

/**
 * Prepares a disk of so many megabytes in memory, mounted where only the server can see it, so that nothing is left
 * mounted. Undefined where the machine does not let us mount anything, with the reason told to `explain`.
 */
export async function prepareSmallDisk(
  megabytes: number,
  explain: (reason: string) => void,
): Promise<SmallDisk | undefined> {
  const parent = await mkdtemp(join(tmpdir(), 'tarefa-disk-'));
  // The server's user has to get in here.
  await chmod(parent, 0o755);
  const folder = join(parent, 'disk');
  await mkdir(folder, { mode: 0o755 });
  const isRoot = process.getuid?.() === 0;
  // The next words of the command line are run when the disk is there.
  const mounted = (options: string): string[] => [
    ...['unshare', '--mount', ...(isRoot ? [] : ['--user', '--map-root-user'])],
    ...['sh', '-c', 'mount -t tmpfs -o "$1" tmpfs "$2" && shift 2 && exec "$@"', 'sh'],
    ...[`size=${megabytes}m,mode=0700${options}`, folder],
  ];
  const remove = (): Promise<void> => rm(parent, { recursive: true, force: true });
  try {
    const [program = '', ...args] = mounted('');
    await run(program, [...args, 'true']);
  } catch (error) {
    await remove();
    explain(error instanceof Error ? error.message : String(error));
    return undefined;
  }
  return {
    folder,
    launcher: (user) => [
      ...mounted(user === undefined ? '' : `,uid=${user.uid},gid=${user.gid}`),
      // PostgreSQL refuses to run as root, which is what we count as in there.
      ...(user === undefined
        ? ['unshare', '--user', `--map-user=${process.getuid?.()}`]
        : ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups']),
    ],
    remove,
  };
}
