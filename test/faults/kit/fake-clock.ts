import { chmod, copyFile, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isRunning } from '../../../lib/embedded/process-table.js';
import { debianFile } from './debian-tool.js';

/** Where the library is that shows a process another time. */
export async function fakeTimeLibrary(): Promise<string> {
  const folder = process.arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu';
  return (await debianFile(`usr/lib/${folder}/faketime/libfaketime.so.1`, ['libfaketime'])).path;
}

/** A clock that programs can be started with, and that somebody sets while they run. */
export interface FakeClock {
  /** What a program needs in its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Sets it so many seconds ahead of the real one, or behind. Programs see it within a second. */
  set(seconds: number): Promise<void>;
  stop(): Promise<void>;
}

export async function startFakeClock(): Promise<FakeClock> {
  const folder = await mkdtemp(join(tmpdir(), `tarefa-clock-${process.pid}-`));
  // Servers may run as another user, who may not come into the folder of this project.
  await chmod(folder, 0o755);
  const library = join(folder, 'libfaketime.so.1');
  await copyFile(await fakeTimeLibrary(), library);
  const file = join(folder, 'offset');
  const set = async (seconds: number): Promise<void> => {
    // Whole at any time.
    await writeFile(`${file}.new`, `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}`);
    await rename(`${file}.new`, file);
  };
  await set(0);
  return {
    env: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_CACHE_DURATION: '1',
      // Only what a clock shows, as when somebody has set it.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      NO_FAKE_STAT: '1',
    },
    set,
    stop: async () => {
      await rm(folder, { recursive: true, force: true });
      await removeShared();
    },
  };
}

const shared = '/dev/shm';

/**
 * What the library leaves of programs that were killed. A program hands it down to those that it starts, which use it when the
 * first one has ended: these have its name in their environment.
 */
async function removeShared(): Promise<void> {
  const found = (await readdir(shared)).flatMap((name) => {
    const pid = Number(/faketime_(?:sem|shm)_(\d+)$/.exec(name)?.[1]);
    return pid > 0 && !isRunning({ pid, started: undefined }) ? [{ name, pid }] : [];
  });
  if (found.length === 0) return;
  const processes = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const environments = await Promise.all(
    processes.map((pid) => readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')),
  );
  for (const { name, pid } of found) {
    const isInUse = environments.some((text) => text.includes(`faketime_shm_${pid}`));
    if (!isInUse) await rm(join(shared, name), { force: true });
  }
}
