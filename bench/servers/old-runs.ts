import { readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../lib/embedded/embedded-postgres.js';
import { isRunning } from '../../lib/embedded/process-table.js';

/**
 * Stops the servers of runs that were killed, and removes their folders.
 *
 * @param prefix of the folders' names in the folder for temporary files; the process id of their run comes next
 */
export async function removeOldRuns(prefix: string): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const pid = name.startsWith(prefix) ? Number.parseInt(name.slice(prefix.length), 10) : 0;
    const folder = join(tmpdir(), name);
    if (!(pid > 0) || isRunning({ pid, started: undefined })) continue;
    if ((await stat(folder)).uid !== process.getuid?.()) continue;
    await startEmbeddedPostgres({ dataDir: folder }).then(
      (server) => server.stop(),
      () => undefined,
    );
    await rm(folder, { recursive: true, force: true });
  }
}
