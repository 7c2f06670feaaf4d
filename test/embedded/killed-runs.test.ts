import { spawn, type ChildProcess } from 'node:child_process';
import { chown, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { isServerOf } from '../../lib/embedded/process-table.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { makeMachine, query, serverGone, serverPid, startApplication, startServer } from './servers.js';

test('the server that a killed application left behind is used again, and stopped then', async () => {
  const folder = await makeTemporaryFolder();
  const killed = await startApplication(folder);
  await query(killed.url, 'create table kept as select 1 as one');
  const pid = await serverPid(killed.data);
  expect(await killed.child.kill('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' });
  expect(isServerOf(pid, killed.data)).toBe(true);

  const next = await startApplication(folder);
  expect(next.lines).toEqual([`using the PostgreSQL that is already running on port ${killed.port}`]);
  expect(next.url).toBe(killed.url);
  expect(await query(next.url, 'select one from kept')).toEqual([{ one: 1 }]);
  next.child.send('stop');
  expect(await next.child.exit).toEqual({ code: 0, signal: null });
  expect(isServerOf(pid, killed.data)).toBe(false);
});

test('after application and server were both killed, the next start recovers the data', async () => {
  const folder = await makeTemporaryFolder();
  const killed = await startApplication(folder);
  await query(killed.url, 'create table kept as select 1 as one');
  // A connection in the middle of something keeps a server process alive for a moment after its parent.
  const busy = query(killed.url, 'select count(*) from generate_series(1, 100000000)').catch(() => undefined);
  const pid = await serverPid(killed.data);
  await killed.child.kill('SIGKILL');
  process.kill(pid, 'SIGKILL');

  const next = await startServer(await makeMachine(), { dataDir: folder });
  expect(await serverPid(next.dataDir)).not.toBe(pid);
  expect(await query(next.url, 'select one from kept')).toEqual([{ one: 1 }]);
  await busy;
  await next.stop();
});

test.each([
  ['another program', 'exec sleep 600'],
  // Ended, but not yet fetched by its parent, as happens for long in containers.
  ['a zombie', 'true & echo $!; exec sleep 600'],
])('a lock file whose process id belongs to %s now does not stand in the way', async (_, script) => {
  const folder = await makeTemporaryFolder();
  const machine = await makeMachine();
  const first = await startServer(machine, { dataDir: folder });
  const lockFile = join(first.dataDir, 'postmaster.pid');
  const [, ...rest] = (await readFile(lockFile, 'utf8')).split('\n');
  const { uid, gid } = await stat(first.dataDir);
  await first.stop();
  const pid = await runAs(uid, script);
  await writeFile(lockFile, [pid, ...rest].join('\n'), { mode: 0o600 });
  await chown(lockFile, uid, gid);

  const second = await startServer(machine, { dataDir: folder });
  expect(await serverPid(second.dataDir)).not.toBe(pid);
  expect(await query(second.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  await second.stop();
  await expect(stat(lockFile)).rejects.toMatchObject({ code: 'ENOENT' });
});

test.each([
  ['process.exit()', 'exit', 3],
  ['an uncaught exception', 'throw', 1],
])('%s takes the server along', async (_, how, code) => {
  const application = await startApplication(await makeTemporaryFolder());
  const pid = await serverPid(application.data);
  application.child.send(how);
  expect(await application.child.exit).toEqual({ code, signal: null });
  expect(await serverGone(pid, application.data)).toBe(true);
});

test('a start that meets a server on its way down waits, and starts a new one', async () => {
  const folder = await makeTemporaryFolder();
  for (let round = 0; round < 4; round++) {
    const application = await startApplication(folder);
    const pid = await serverPid(application.data);
    application.child.send('exit');
    await application.child.exit;
    // The server was told to stop a moment ago and may still answer.
    const next = await startServer(await makeMachine(), { dataDir: folder });
    expect(await serverPid(next.dataDir)).not.toBe(pid);
    expect(await query(next.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    await next.stop();
  }
});

const programs: ChildProcess[] = [];

/** Runs a shell script as that user; the process id it prints, or its own. */
async function runAs(uid: number, script: string): Promise<number> {
  const user = process.getuid?.() === 0 ? { uid } : {};
  const child = spawn('/bin/sh', ['-c', script], { cwd: '/', stdio: ['ignore', 'pipe', 'ignore'], ...user });
  programs.push(child);
  if (!script.includes('echo')) return child.pid ?? 0;
  return new Promise((resolve) => {
    child.stdout.once('data', (chunk: Buffer) => resolve(Number(chunk.toString())));
  });
}

afterAll(() => {
  for (const program of programs) program.kill('SIGKILL');
});
