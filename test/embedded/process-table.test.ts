import { expect, test } from 'vitest';
import { findProcessesOf, isRunning, isServerOf, ownIdentity } from '../../lib/embedded/process-table.js';

test('a process is known by its start time as well as its id', () => {
  const own = ownIdentity();
  expect(own.pid).toBe(process.pid);
  expect(isRunning(own)).toBe(true);
  expect(isRunning({ ...own, started: 'another time' })).toBe(own.started === undefined);
  expect(isRunning({ ...own, started: undefined })).toBe(true);
  for (const pid of [0, -1, Number.NaN, 2 ** 31 - 1])
    expect(isRunning({ pid, started: undefined })).toBe(false);
});

test('a process that works in the folder is not a server for that', () => {
  expect(isServerOf(process.pid, process.cwd())).toBe(false);
  expect(findProcessesOf(process.cwd())).toEqual([]);
});
