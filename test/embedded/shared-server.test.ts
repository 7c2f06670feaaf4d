import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isServerOf } from '../../lib/embedded/process-table.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { makeMachine, query, serverPid, startApplication, startServer } from './servers.js';

test('two applications in one folder share a server, and the last one stops it', async () => {
  const folder = await makeTemporaryFolder();
  const first = await startApplication(folder);
  const second = await startApplication(folder);
  expect(second.url).toBe(first.url);
  const pid = await serverPid(first.data);

  first.child.send('stop');
  await first.child.exit;
  expect(isServerOf(pid, first.data)).toBe(true);
  expect(await query(second.url, 'select 1 as one')).toEqual([{ one: 1 }]);

  second.child.send('stop');
  await second.child.exit;
  expect(isServerOf(pid, first.data)).toBe(false);
});

test('one that ends without stopping leaves the server to the other', async () => {
  const folder = await makeTemporaryFolder();
  const lasting = await startApplication(folder);
  const exiting = await startApplication(folder);
  const killed = await startApplication(folder);
  exiting.child.send('exit');
  await Promise.all([exiting.child.exit, killed.child.kill('SIGKILL')]);
  expect(await query(lasting.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  const pid = await serverPid(lasting.data);
  lasting.child.send('stop');
  await lasting.child.exit;
  expect(isServerOf(pid, lasting.data)).toBe(false);
});

test('one process may start it twice', async () => {
  const folder = await makeTemporaryFolder();
  const machine = await makeMachine();
  const lines: string[] = [];
  const first = await startServer(machine, { dataDir: folder });
  const second = await startServer(machine, {
    dataDir: folder,
    settings: { work_mem: '5MB' },
    log: (line) => lines.push(line),
  });
  expect(second.url).toBe(first.url);
  expect(lines).toContain('its settings stay as they are until it is stopped');
  await first.stop();
  expect(await query(second.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  const pid = await serverPid(second.dataDir);
  await second.stop();
  expect(isServerOf(pid, second.dataDir)).toBe(false);
});

test('processes that start at the same moment in an empty folder share one server', async () => {
  const folder = await makeTemporaryFolder();
  const applications = await Promise.all([1, 2, 3, 4].map(() => startApplication(folder)));
  expect(new Set(applications.map(({ url }) => url)).size).toBe(1);
  const made = applications.flatMap(({ lines }) => lines).filter((line) => line.startsWith('creating'));
  expect(made).toHaveLength(1);
  const pid = await serverPid(join(folder, 'data'));
  for (const { child } of applications) child.send('stop');
  const ends = await Promise.all(applications.map(({ child }) => child.exit));
  expect(ends).toEqual(applications.map(() => ({ code: 0, signal: null })));
  expect(isServerOf(pid, join(folder, 'data'))).toBe(false);
});

test('processes that start and stop all the time never take the server from one another', async () => {
  const folder = await makeTemporaryFolder();
  const applications = await Promise.all([1, 2, 3].map(() => startApplication(folder, { rounds: 8 })));
  for (const { url } of applications) expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }]);
  for (const { child } of applications) child.send('stop');
  const ends = await Promise.all(applications.map(({ child }) => child.exit));
  expect(ends).toEqual(applications.map(() => ({ code: 0, signal: null })));
});

test('a copy of a folder in use is a server of its own', async () => {
  const folder = await makeTemporaryFolder();
  const machine = await makeMachine();
  const original = await startServer(machine, { dataDir: join(folder, 'original') });
  await query(original.url, 'create table kept as select 1 as one');
  await query(original.url, 'checkpoint');
  await cp(join(folder, 'original'), join(folder, 'copy'), { recursive: true, preserveTimestamps: true });

  const copy = await startServer(machine, { dataDir: join(folder, 'copy') });
  expect(copy.port).not.toBe(original.port);
  expect(await query(copy.url, 'select one from kept')).toEqual([{ one: 1 }]);
  const pid = await serverPid(copy.dataDir);
  await copy.stop();
  expect(isServerOf(pid, copy.dataDir)).toBe(false);
  expect(await query(original.url, 'select one from kept')).toEqual([{ one: 1 }]);
  await original.stop();
});

test('owners that cannot be read count as none', async () => {
  const folder = await makeTemporaryFolder();
  const server = await startServer(await makeMachine(), { dataDir: folder });
  await writeFile(join(folder, 'owners.json'), '{ "home"');
  const pid = await serverPid(server.dataDir);
  await server.stop();
  expect(isServerOf(pid, server.dataDir)).toBe(false);
});
