import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from './error-facts.js';
import { isRunning, ownIdentity, type ProcessIdentity } from './process-table.js';
import { waitUntil } from './wait-until.js';

interface Holder extends ProcessIdentity {
  readonly token: string;
}

/** A file without a readable holder is one that is just being written, unless it has been so for this long. */
const unreadableForMs = 5_000;
const waitMs = 180_000;

/**
 * Does `work` while holding the lock file in `folder`, so that of several processes (and of several calls in one)
 * only one starts, joins or stops the server. The lock of a process that is gone is taken over.
 */
export async function withStartLock<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const path = lockFileIn(folder);
  const release = await waitUntil(() => tryLock(path), { everyMs: 25, timeoutMs: waitMs });
  if (release === undefined) {
    throw new Error(
      `${path} is held by process ${holderOf(path)?.pid ?? 'unknown'} since ${waitMs / 1000} s`,
    );
  }
  try {
    return await work();
  } finally {
    release();
  }
}

/**
 * Runs work under the lock at the end of a process, where nothing can be awaited: waits up to `timeoutMs` and does nothing when
 * another process keeps the lock. A lock of this very process counts as held, because its work goes no further.
 */
export function withStartLockSync(folder: string, timeoutMs: number, work: () => void): void {
  const path = lockFileIn(folder);
  const deadline = performance.now() + timeoutMs;
  const pause = new Int32Array(new SharedArrayBuffer(4));
  let release = tryLock(path);
  while (release === undefined && holderOf(path)?.pid !== process.pid && performance.now() < deadline) {
    Atomics.wait(pause, 0, 0, 10);
    release = tryLock(path);
  }
  if (release === undefined && holderOf(path)?.pid !== process.pid) return;
  try {
    work();
  } finally {
    release?.();
  }
}

function lockFileIn(folder: string): string {
  return join(folder, 'lock');
}

function tryLock(path: string): (() => void) | undefined {
  const holder: Holder = { ...ownIdentity(), token: randomUUID() };
  if (create(path, holder)) return () => unlock(path, holder);
  if (isStale(path)) removeStale(path);
  return undefined;
}

function create(path: string, holder: Holder): boolean {
  try {
    writeFileSync(path, JSON.stringify(holder), { flag: 'wx', mode: 0o644 });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

function unlock(path: string, holder: Holder): void {
  if (holderOf(path)?.token === holder.token) rmSync(path, { force: true });
}

/**
 * Two processes may find the same lock stale, and the slower must not remove the lock that the faster has made
 * in its place. Hence a stale lock is removed only under a second lock, after a second look.
 */
function removeStale(path: string): void {
  const guard = `${path}.stale`;
  if (!create(guard, { ...ownIdentity(), token: '' })) {
    if (isOlderThan(guard, unreadableForMs)) rmSync(guard, { force: true });
    return;
  }
  try {
    if (isStale(path)) rmSync(path, { force: true });
  } finally {
    rmSync(guard, { force: true });
  }
}

function isStale(path: string): boolean {
  const holder = holderOf(path);
  return holder === undefined ? isOlderThan(path, unreadableForMs) : !isRunning(holder);
}

function holderOf(path: string): Holder | undefined {
  try {
    const holder: Holder = JSON.parse(readFileSync(path, 'utf8'));
    return holder;
  } catch {
    return undefined;
  }
}

function isOlderThan(path: string, ms: number): boolean {
  try {
    // A file from the future was written before the clock was set back.
    return Math.abs(Date.now() - statSync(path).mtimeMs) > ms;
  } catch {
    return false;
  }
}
