import { execFileSync } from 'node:child_process';
import { close, closeSync, constants, mkdtempSync, open, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';

/** Threads that libuv makes unless it is told otherwise. */
const defaultThreads = 4;

/** The thread pool of this process while somebody else has all of it. */
export interface OccupiedThreadPool {
  /** Lets its threads go on. Idempotent; done at the end of the test at the latest. */
  readonly release: () => Promise<void>;
}

/**
 * Occupies every thread of libuv's pool, and no processor: each opens a pipe that nobody writes to. Whatever else comes
 * (`dns.lookup`, `crypto.pbkdf2`, `fs.readFile`) waits for `release`.
 */
export function occupyThreadPool(): OccupiedThreadPool {
  const folder = mkdtempSync(join(tmpdir(), 'tarefa-threads-'));
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const threads = Number(process.env['UV_THREADPOOL_SIZE'] ?? defaultThreads);
  const opened = Array.from({ length: threads }, () => promisify(open)(pipe, constants.O_RDONLY));
  let released: Promise<void> | undefined;
  const release = async (): Promise<void> => {
    // Both ends at once: that waits for nobody, and whoever waits for a writer has one.
    const both = openSync(pipe, constants.O_RDWR);
    for (const reader of await Promise.all(opened)) await promisify(close)(reader);
    closeSync(both);
    rmSync(folder, { recursive: true });
  };
  const once = (): Promise<void> => (released ??= release());
  onTestFinished(once);
  return { release: once };
}
