import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

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

afterAll(async () => {
  await Promise.all(made.map((folder) => rm(folder, { recursive: true, force: true })));
});
