import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made: string[] = [];

/**
 * An empty folder, removed at the end of the test file. Others may pass through it, because the embedded server
 * runs as another user when root runs the tests; `0o700` closes it to them.
 */
export async function makeTemporaryFolder(mode = 0o755): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tarefa-folder-'));
  await chmod(folder, mode);
  made.push(folder);
  return folder;
}

/** For the end of a test file. */
export async function removeTemporaryFolders(): Promise<void> {
  await Promise.all(made.splice(0).map((folder) => rm(folder, { recursive: true, force: true })));
}
