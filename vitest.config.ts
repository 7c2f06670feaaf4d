import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { compiledFolder, nestFolder } from './test/support/compiled-folder.js';
import { leftOut } from './test/support/mysql-left-out.js';
import { leftOutOn } from './test/support/postgres-left-out.js';

type Plugin = NonNullable<ViteUserConfig['plugins']>[number];

const root = import.meta.dirname;
const library = join(root, 'lib') + sep;

/**
 * Tests run the library that was compiled for their child processes. Node.js loads it once per file at the cost of reading
 * it, where Vitest would fetch and evaluate six hundred sources.
 */
const compiledLibrary: Plugin = {
  name: 'compiled-library',
  enforce: 'pre',
  resolveId(source, importer) {
    if (importer === undefined || !source.startsWith('.')) return undefined;
    const path = resolve(dirname(importer), source);
    if (!path.startsWith(library)) return undefined;
    const compiled = join(compiledFolder, relative(root, path));
    // What compiles the library runs before that.
    return existsSync(compiled) ? { id: compiled, external: true } : undefined;
  },
};

/** Gives tests the same Nest as the compiled library, which finds it by itself, where `npm run test:nest` names another one. */
const nestOfRun = (folder: string): Plugin => {
  const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    dependencies: Readonly<Record<string, string>>;
  };
  const names = Object.keys(dependencies);
  return {
    name: 'nest-of-run',
    enforce: 'pre',
    resolveId(source) {
      if (!names.some((name) => source === name || source.startsWith(`${name}/`))) return undefined;
      return this.resolve(source, join(folder, 'package.json'), { skipSelf: true });
    },
  };
};

/**
 * Tests that need more than a healthy PostgreSQL and this machine's Node.js: a server of their own to stop or replace, a
 * connection or a process to break, a browser, npm, another library. `npm run test:servers` runs them, `npm test` the others.
 */
const servers = [
  'test/{docker,embedded,faults,interop,package,release,sample-app,versions}/**/*.test.ts',
  'test/**/*.{browser,servers}.test.ts',
];

/** What only matters for a release: `npm run test:long`. */
const long = 'test/**/*.long.test.ts';

const others = leftOutOn(process.env['TAREFA_TEST_POSTGRES'] ?? '');

export default defineConfig({
  plugins: [compiledLibrary, ...(nestFolder === undefined ? [] : [nestOfRun(nestFolder)])],
  test: {
    // One PostgreSQL, one MariaDB or MySQL where it is asked for, and one compiled copy of the library for the whole run; one
    // database per test file.
    globalSetup: ['test/support/server.ts', 'test/support/mysql-run.ts', 'test/support/client-server-run.ts'],
    setupFiles: ['test/support/end-of-file.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
    // A second, the default, is less than a busy machine may stall for.
    expect: { poll: { timeout: 15_000 } },
    projects: [
      // Files take turns in two processes: loading Nest and the library anew for each takes a third of the time.
      {
        extends: true,
        test: {
          name: 'queue',
          include: ['test/**/*.test.ts'],
          exclude: [...servers, long, ...others],
          isolate: false,
        },
      },
      // A process each, so that a broken connection or a changed environment harms no other file.
      {
        extends: true,
        test: {
          name: 'servers',
          include: servers,
          exclude: [long, ...others, ...(await leftOut())],
          // Servers that start, stop and fall silent are waited for: a fifth of the processors' time was idle with two. It stands
          // here because a project's own number goes before that of `--maxWorkers`.
          maxWorkers: 3,
          // Vitest wants it where projects differ in that: after the queue's.
          sequence: { groupOrder: 1 },
        },
      },
      { extends: true, test: { name: 'long', include: [long] } },
    ],
  },
});
