import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { version } from '../../lib/version.js';
import { blocksIn } from '../docs/documents.js';
import { createDatabase, type TestDatabase } from '../support/database.js';
import { forkFile } from '../support/processes.js';
import { until } from '../support/waiting.js';
import { compile, makeProject, packLibrary, type PackedLibrary } from './packed.js';

let library: PackedLibrary;
let project: string;
let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
  library = await packLibrary();
  project = await makeProject(library);
}, 180_000);

afterAll(() => database.drop());

test('the tarball holds the compiled library and its documents, and nothing else', async () => {
  const { files } = library;
  const others = files.filter((name) => !/^(dist\/lib\/.+\.(js|d\.ts)|docs\/.+\.md)$/.test(name));
  expect(others).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json']);
  expect(files).toContain('dist/lib/index.js');
  expect(files).toContain('docs/reference/schema.md');
  expect(files.filter((name) => /\.(test|spec)\.|^test/.test(name))).toEqual([]);
  const scripts = files.filter((name) => name.endsWith('.js'));
  const texts = await Promise.all(scripts.map((name) => readFile(join(library.folder, name), 'utf8')));
  // No maps are shipped: the compiled files are as readable as the sources.
  expect(scripts.filter((_, index) => texts[index]?.includes('sourceMappingURL'))).toEqual([]);
});

test('the version is one', () => {
  expect(library.manifest.version).toBe(version);
});

test('the library imports only what it declares', async () => {
  const { dependencies, peerDependencies } = library.manifest;
  const declared = new Set([...Object.keys(dependencies), ...Object.keys(peerDependencies)]);
  const imported = new Set<string>();
  for (const name of library.files.filter((file) => /\.(js|d\.ts)$/.test(file))) {
    const text = await readFile(join(library.folder, name), 'utf8');
    for (const [, source = ''] of text.matchAll(/(?:from|import)[ (]+['"]([^'".][^'"]*)['"]/g))
      imported.add(source);
  }
  const packages = [...imported]
    .filter((source) => !source.startsWith('node:'))
    .map((source) => source.split('/', source.startsWith('@') ? 2 : 1).join('/'));
  expect(packages.length).toBeGreaterThan(0);
  expect(packages.filter((name) => !declared.has(name))).toEqual([]);
});

test('scenarios 136, 138: a strict application outside the repository compiles and runs', async () => {
  const settings = {
    compilerOptions: {
      module: 'nodenext',
      target: 'es2023',
      lib: ['es2023'],
      types: ['node'],
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      noImplicitOverride: true,
      verbatimModuleSyntax: true,
      isolatedModules: true,
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
      skipLibCheck: false,
      outDir: 'out',
      rootDir: '.',
    },
    files: ['main.ts', 'bad-uses.ts'],
  };
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify(settings));
  for (const name of ['main.ts', 'bad-uses.ts']) {
    await copyFile(join(import.meta.dirname, `consumer/${name}.txt`), join(project, name));
  }
  await compile(project);

  const child = forkFile(join(project, 'out/main.js'), 'consumer', {
    env: { DATABASE_URL: database.url },
    cwd: project,
  });
  const exit = await child.exit;
  expect({ ...exit, stderr: child.stderr }).toEqual({ code: 0, signal: null, stderr: '' });
  expect(JSON.parse(child.stdout)).toEqual({
    done: ['gave 1 up', 'indexed Zoë 🦄 at attempt 1 for search-index', 'invoiced {"n":1}'],
    others: '0',
  });
}, 120_000);

test('the quick start compiles and does what it says', async () => {
  const folder = join(project, 'quick-start');
  await mkdir(folder);
  for (const { note, text } of blocksIn('ts', 'json').filter(({ place }) =>
    place.includes('quick-start.md'),
  )) {
    await writeFile(join(folder, note), text);
  }
  await compile(folder);
  const child = forkFile(join(folder, 'main.js'), 'quick start', {
    env: { DATABASE_URL: database.url },
    cwd: folder,
  });
  const [query] = blocksIn('sql').filter(({ place }) => place.includes('quick-start.md'));
  const row = await until(async () => {
    const { rows } = await database.pool
      .query<{ status: string }>(query?.text ?? '')
      .catch(() => ({ rows: [] as { status: string }[] }));
    return rows.find(({ status }) => status === 'succeeded');
  }, `the task of the quick start succeeded; it printed ${child.stdout}${child.stderr}`);
  const [shown] = blocksIn('text').filter(({ place }) => place.includes('quick-start.md'));
  expect(
    shown?.text
      .split('\n')
      .at(-1)
      ?.split('|')
      .map((cell) => cell.trim()),
  ).toEqual(Object.values(row).map(String));
  expect(await child.kill('SIGTERM')).toEqual({ code: null, signal: 'SIGTERM' });
  const { rows } = await database.pool.query('select stopped_at is not null as stopped from hello_worker');
  expect(rows).toEqual([{ stopped: true }]);
}, 120_000);

test('an application in CommonJS can require it', async () => {
  const file = join(project, 'required.cjs');
  await writeFile(file, "process.stdout.write(typeof require('nestjs-tarefa').QueueModule.forRoot);");
  const child = forkFile(file, 'required');
  expect(await child.exit).toEqual({ code: 0, signal: null });
  expect(child.stdout).toBe('function');
});
