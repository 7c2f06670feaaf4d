import { chmod, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
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
  const library = await fakeTimeLibrary();
  const folder = await mkdtemp(join(tmpdir(), `tarefa-clock-${process.pid}-`));
  // Servers may run as another user.
  await chmod(folder, 0o755);
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

/** What the library leaves of programs that were killed. */
async function removeShared(): Promise<void> {
  for (const name of await readdir(shared)) {
    const pid = Number(/faketime_(?:sem|shm)_(\d+)$/.exec(name)?.[1]);
    if (pid > 0 && !isRunning({ pid, started: undefined })) await rm(join(shared, name), { force: true });
  }
}
