import { spawn } from 'node:child_process';
import { readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withStartLock, withStartLockSync } from '../../lib/embedded/start-lock.js';
import { makeTemporaryFolder } from '../support/folders.js';

test('works under one lock never overlap, and a failed one releases it', async () => {
  const folder = await makeTemporaryFolder();
  let inside = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    most = Math.max(most, ++inside);
    await new Promise(setImmediate);
    inside--;
    throw new Error('failed');
  };
  const works = Array.from({ length: 8 }, () => withStartLock(folder, work));
  const results = await Promise.allSettled(works);
  expect(most).toBe(1);
  expect(results.map(({ status }) => status)).toEqual(works.map(() => 'rejected'));
  expect(await readdir(folder)).toEqual([]);
});

test('the lock of a process that is gone is taken over by exactly one', async () => {
  const folder = await makeTemporaryFolder();
  const gone = spawn(process.execPath, ['--version'], { stdio: 'ignore' });
  await new Promise((resolve) => gone.once('exit', resolve));
  await writeFile(join(folder, 'lock'), JSON.stringify({ pid: gone.pid, token: 'x' }));
  let inside = 0;
  const work = async (): Promise<number> => {
    const now = ++inside;
    await new Promise(setImmediate);
    inside--;
    return now;
  };
  expect(await Promise.all([1, 2, 3].map(() => withStartLock(folder, work)))).toEqual([1, 1, 1]);
});

test('so is one of an earlier process with the same id, and one that was never finished', async () => {
  const folder = await makeTemporaryFolder();
  const path = join(folder, 'lock');
  await writeFile(path, JSON.stringify({ pid: process.pid, started: 'long ago', token: 'x' }));
  expect(await withStartLock(folder, async () => 'in')).toBe('in');
  await writeFile(path, '');
  await utimes(path, new Date(), new Date(Date.now() - 60_000));
  expect(await withStartLock(folder, async () => 'in')).toBe('in');
});

test('the end of a process does not wait for others, nor for itself', async () => {
  const folder = await makeTemporaryFolder();
  const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  await new Promise((resolve) => other.once('spawn', resolve));
  await writeFile(join(folder, 'lock'), JSON.stringify({ pid: other.pid, token: 'x' }));
  let done = 0;
  withStartLockSync(folder, 20, () => done++);
  expect(done).toBe(0);
  other.kill('SIGKILL');
  await new Promise((resolve) => other.once('exit', resolve));
  withStartLockSync(folder, 1_000, () => done++);
  expect(done).toBe(1);
  await withStartLock(folder, async () => withStartLockSync(folder, 20, () => done++));
  expect(done).toBe(2);
});
