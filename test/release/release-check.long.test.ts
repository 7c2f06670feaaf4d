import { execFile } from 'node:child_process';
import { appendFile, chmod, cp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { npm, outsideNpm } from '../package/npm.js';
import { packLibrary } from '../package/packed.js';
import { makeTemporaryFolder } from '../support/folders.js';

const root = resolve(import.meta.dirname, '../..');
const execute = promisify(execFile);
/** A repository that is ready, and its tarball, unpacked as well; copied for each fault. */
let ready: string;
let unpacked: string;
let tarball: string;
/** Read at once, where the repository is what matters. */
let unreadable: string;

type Manifest = Record<string, unknown> & {
  version: string;
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
};

beforeAll(async () => {
  const library = await packLibrary();
  ready = await makeTemporaryFolder();
  for (const name of [
    'lib/version.ts',
    'scripts',
    'CHANGELOG.md',
    'LICENSE',
    'package.json',
    'package-lock.json',
  ]) {
    await cp(join(root, name), join(ready, name), { recursive: true });
  }
  await writeFile(join(ready, '.gitignore'), '*.tgz\n');
  await editManifest(ready, (manifest) => {
    manifest['repository'] = { type: 'git', url: 'git+https://example.com/tarefa/nestjs-tarefa.git' };
  });
  await edit(join(ready, 'CHANGELOG.md'), (text) =>
    text.replace(/^(## \[[\d.]+\]) - .*$/m, '$1 - 2026-01-31'),
  );
  unpacked = join(await makeTemporaryFolder(), 'package');
  await cp(library.folder, unpacked, { recursive: true });
  await chmod(join(unpacked, 'dist/lib/cli/main.js'), 0o755);
  tarball = await pack(unpacked);
  unreadable = join(await makeTemporaryFolder(), 'none.tgz');
  await writeFile(unreadable, 'x');
  await git(ready, 'init', '--quiet');
  await commit(ready);
}, 180_000);

test('a repository and a tarball that are ready are found to be so', async () => {
  const { code, output } = await releaseCheck();
  expect(output).not.toContain('FAILED');
  expect(output).toMatch(/\nready to be released\n$/);
  expect(code).toBe(0);
});

test.each<[string, RegExp, (folder: string) => Promise<unknown>]>([
  [
    'a version that is none',
    /semantic version: it is 1\.0/,
    (at) => editManifest(at, (one) => (one.version = '1.0')),
  ],
  [
    'another version in the code',
    /lib\/version\.ts .*: it has 9\.9\.9/,
    (at) => edit(join(at, 'lib/version.ts'), (text) => text.replace(/'[\d.]+'/, "'9.9.9'")),
  ],
  [
    'another version in the lock',
    /package-lock\.json has the same version/,
    (at) =>
      edit(join(at, 'package-lock.json'), (text) => text.replace(/"version": "[^"]+"/, '"version": "9.9.9"')),
  ],
  [
    'a changelog without a date',
    /"unreleased" is no date/,
    (at) => edit(join(at, 'CHANGELOG.md'), (text) => text.replace('2026-01-31', 'unreleased')),
  ],
  [
    'a date that is none',
    /"2026-13-45" is no date/,
    (at) => edit(join(at, 'CHANGELOG.md'), (text) => text.replace('2026-01-31', '2026-13-45')),
  ],
  [
    'a day that has not come',
    /9999-01-01 is in the future/,
    (at) => edit(join(at, 'CHANGELOG.md'), (text) => text.replace('2026-01-31', '9999-01-01')),
  ],
  [
    'no section',
    /CHANGELOG\.md .*: it has 0/,
    (at) => edit(join(at, 'CHANGELOG.md'), (text) => text.replace(/^## \[/m, '## (')),
  ],
  [
    'two sections',
    /CHANGELOG\.md .*: it has 2/,
    (at) => edit(join(at, 'CHANGELOG.md'), (text) => text + text),
  ],
  [
    'a later section before it',
    /CHANGELOG\.md .*: 9\.0\.0 stands before it/,
    (at) => edit(join(at, 'CHANGELOG.md'), (text) => text.replace('## [', '## [9.0.0] - 2026-02-01\n\n## [')),
  ],
  ['a tag', /no tag v.*: it was released/, async (at) => git(at, 'tag', `v${await versionOf(at)}`)],
  ['no license', /LICENSE .*: there is no file LICENSE/, (at) => rm(join(at, 'LICENSE'))],
  [
    'another license',
    /LICENSE .*: it is not ISC/,
    (at) => editManifest(at, (one) => (one['license'] = 'ISC')),
  ],
  [
    'a private package',
    /provenance: private is set/,
    (at) => editManifest(at, (one) => (one['private'] = true)),
  ],
  [
    'no provenance',
    /publishConfig\.provenance must be true/,
    (at) => editManifest(at, (one) => (one['publishConfig'] = { access: 'public' })),
  ],
  [
    'no public access',
    /publishConfig\.access must be public/,
    (at) => editManifest(at, (one) => delete one['publishConfig']),
  ],
  [
    'no repository',
    /provenance is about: set repository to/,
    (at) => editManifest(at, (one) => delete one['repository']),
  ],
  [
    'a repository elsewhere',
    /provenance is about: \.\.\/here is not/,
    (at) => editManifest(at, (one) => (one['repository'] = { url: '../here' })),
  ],
  [
    'an install script',
    /when it is installed: remove postinstall/,
    (at) => editManifest(at, (one) => (one.scripts['postinstall'] = 'true')),
  ],
  ['no engines', /which Node\.js it needs/, (at) => editManifest(at, (one) => delete one['engines'])],
  [
    'a dependency in a folder',
    /in ranges: pg is "file:\.\.\/pg"/,
    (at) => editManifest(at, (one) => (one.dependencies['pg'] = 'file:../pg')),
  ],
  [
    'a peer that nobody tests',
    /tested: rxjs \^6\.0\.0 is tested with 7/,
    (at) =>
      editManifest(
        at,
        (one) => ((one['peerDependencies'] = { rxjs: '^6.0.0' }), (one['peerDependenciesMeta'] = {})),
      ),
  ],
  [
    'an optional peer that is none',
    /tested: ws is optional, but no peer/,
    (at) => editManifest(at, (one) => (one['peerDependenciesMeta'] = { ws: { optional: true } })),
  ],
])('%s is a fault', async (_fault, problem, plant) => {
  const folder = await copyOf(ready);
  await plant(folder);
  await commit(folder);
  const { code, output } = await releaseCheck(folder, unreadable);
  const failed = output.split('\n').filter((line) => line.startsWith('FAILED'));
  expect(failed).toEqual(expect.arrayContaining([expect.stringMatching(problem)]));
  expect(output).toMatch(new RegExp(`\n${failed.length} to be put right first\n$`));
  expect(code).toBe(1);
});

test('what is not committed is a fault', async () => {
  const folder = await copyOf(ready);
  await appendFile(join(folder, 'CHANGELOG.md'), 'more');
  const { output } = await releaseCheck(folder, unreadable);
  expect(output).toMatch(/FAILED {2}git: everything is committed: 1 changes/);
  await rm(join(folder, '.git'), { recursive: true });
  const without = await releaseCheck(folder, unreadable);
  expect(without.output).toMatch(/FAILED {2}git: everything .*: this is no git repository/);
});

test.each<[string, RegExp, (folder: string) => Promise<unknown>]>([
  ['a test', /nothing else: dist\/lib\/a\.test\.ts$/m, (at) => writeFile(join(at, 'dist/lib/a.test.ts'), '')],
  ['secrets', /nothing else: docs\/\.env$/m, (at) => writeFile(join(at, 'docs/.env'), 'x')],
  [
    'maps that lead elsewhere',
    /with their sources in them: dist\/lib\/index\.js, dist\/lib\/version\.js$/m,
    async (at) => {
      await edit(join(at, 'dist/lib/index.js'), (text) =>
        text.replace(/(sourceMappingURL=).*/, '$1../index.ts'),
      );
      await edit(join(at, 'dist/lib/version.js.map'), (text) => text.replace('sourcesContent', 'contents'));
    },
  ],
  [
    'no entry',
    /package\.json names: dist\/lib\/terminus\/index\.js/,
    (at) => rm(join(at, 'dist/lib/terminus/index.js')),
  ],
  [
    'a command that is none',
    /can be run: dist\/lib\/cli\/main\.js/,
    (at) => edit(join(at, 'dist/lib/cli/main.js'), (text) => text.slice(text.indexOf('\n') + 1)),
  ],
  [
    'a large file',
    /too large: docs\/large\.md/,
    (at) => writeFile(join(at, 'docs/large.md'), 'x'.repeat(400_000)),
  ],
  [
    'another version',
    /FAILED {2}tarball: is of this version/,
    (at) => editManifest(at, (one) => (one.version = '9.9.9')),
  ],
])('a tarball with %s is a fault', async (_fault, problem, plant) => {
  const broken = await copyOf(unpacked, 'package');
  await plant(broken);
  // As it is, whatever `files` says.
  await editManifest(broken, (manifest) => {
    manifest['files'] = ['**'];
  });
  const { code, output } = await releaseCheck(ready, await pack(broken));
  expect(output).toMatch(problem);
  expect(code).toBe(1);
});

test('a tarball that is none is a fault, not a crash', async () => {
  const { code, output } = await releaseCheck(ready, unreadable);
  expect(output).toMatch(/FAILED {2}tarball: can be made and read/);
  expect(code).toBe(1);
});

test('this repository can be released but for what only its owner can say', async () => {
  const folder = await copyOf(ready);
  await cp(join(root, 'package.json'), join(folder, 'package.json'));
  const { output } = await releaseCheck(folder);
  const failed = output.split('\n').filter((line) => line.startsWith('FAILED') && !line.includes('git:'));
  const own = ['CHANGELOG.md has one section', 'package.json: says where its sources are'];
  expect(failed.filter((line) => !own.some((text) => line.includes(text)))).toEqual([]);
});

async function pack(contents: string): Promise<string> {
  const place = await makeTemporaryFolder();
  const answer = await npm(
    ['pack', '--json', '--ignore-scripts', '--offline', '--pack-destination', place],
    contents,
  );
  const [packed] = JSON.parse(answer) as { filename: string }[];
  return join(place, packed?.filename ?? '');
}

async function releaseCheck(folder = ready, file = tarball): Promise<{ code: number; output: string }> {
  const args = ['scripts/release-check.mjs', '--tarball', file];
  return execute(process.execPath, args, { cwd: folder, env: outsideNpm() }).then(
    ({ stdout }) => ({ code: 0, output: stdout }),
    ({ code, stdout }: { code: number; stdout: string }) => ({ code, output: stdout }),
  );
}

async function copyOf(folder: string, name = 'copy'): Promise<string> {
  const copy = join(await makeTemporaryFolder(), name);
  await cp(folder, copy, { recursive: true });
  return copy;
}

async function edit(file: string, change: (text: string) => string): Promise<void> {
  const { mode } = await stat(file);
  await writeFile(file, change(await readFile(file, 'utf8')), { mode });
}

async function editManifest(folder: string, change: (manifest: Manifest) => unknown): Promise<void> {
  await edit(join(folder, 'package.json'), (text) => {
    const manifest = JSON.parse(text) as Manifest;
    change(manifest);
    return JSON.stringify(manifest);
  });
}

async function versionOf(folder: string): Promise<string> {
  return (JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest).version;
}

async function commit(folder: string): Promise<void> {
  await git(folder, 'add', '--all');
  const author = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', '-c', 'commit.gpgsign=false'];
  await git(folder, ...author, 'commit', '--quiet', '--allow-empty', '--no-verify', '--message', 'x');
}

async function git(folder: string, ...args: readonly string[]): Promise<void> {
  await execute('git', args, { cwd: folder });
}
