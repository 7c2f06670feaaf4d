import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { build as buildWithVite } from 'vite';
import { useDatabase } from '../support/database.js';
import { applicationFrom } from './bundled-application.js';
import { installPackages } from './installation.js';
import { makeProject, packLibrary } from './packed.js';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');
const database = await useDatabase();

/** What is used of webpack. */
type Webpack = (config: object) => {
  run(done: (error: Error | null, stats?: { hasErrors(): boolean; toString(): string }) => void): void;
};
interface Builder {
  readonly build: (options: object) => Promise<unknown>;
}
type NodeExternals = (options: object) => unknown;

let project: string;
let load: (name: string) => Promise<unknown>;

beforeAll(async () => {
  const tools = createRequire(join(await installPackages('bundlers'), 'package.json'));
  load = async (name) => import(tools.resolve(name));
  project = await makeProject(await packLibrary(), ['@nestjs/platform-express']);
  await writeFile(join(project, 'main.mjs'), applicationFrom('nestjs-tarefa'));
}, 300_000);

async function bundleWithWebpack(output: string, externals: object, more: object): Promise<void> {
  const { default: webpack } = (await load('webpack')) as { default: Webpack };
  const { default: nodeExternals } = (await load('webpack-node-externals')) as { default: NodeExternals };
  const compiler = webpack({
    mode: 'production',
    target: 'node',
    context: project,
    entry: './main.mjs',
    externals: [nodeExternals({ modulesDir: join(project, 'node_modules'), ...externals })],
    ...more,
    output: { path: project, filename: output, ...('experiments' in more && { module: true }) },
  });
  await new Promise<void>((bundled, failed) => {
    compiler.run((error, stats) => {
      if (error || !stats || stats.hasErrors()) failed(error ?? new Error(String(stats)));
      else bundled();
    });
  });
}

/** By what docs/limits.md says of it: a bundler, what the page calls its setting, and how it makes that file of main.mjs. */
const recipes = [
  {
    title: 'esbuild',
    setting: '--packages=external',
    output: 'esbuild.cjs',
    bundle: async (output: string) => {
      const { build } = (await load('esbuild')) as Builder;
      const target = { absWorkingDir: project, outfile: output, platform: 'node' };
      await build({ entryPoints: ['main.mjs'], bundle: true, packages: 'external', ...target });
    },
  },
  {
    title: 'webpack',
    setting: 'externals: [nodeExternals()]',
    output: 'webpack.cjs',
    bundle: (output: string) => bundleWithWebpack(output, {}, {}),
  },
  {
    title: 'webpack, for ES modules',
    setting: "nodeExternals({ importType: 'module' })",
    output: 'webpack.mjs',
    bundle: (output: string) =>
      bundleWithWebpack(output, { importType: 'module' }, { experiments: { outputModule: true } }),
  },
  {
    title: 'Rolldown',
    setting: 'external: /^[a-z@]/',
    output: 'rolldown.mjs',
    bundle: async (output: string) => {
      const { build } = (await load('rolldown')) as Builder;
      const target = { format: 'esm', file: join(project, output) };
      await build({
        cwd: project,
        input: './main.mjs',
        platform: 'node',
        external: /^[a-z@]/,
        output: target,
      });
    },
  },
  {
    title: 'Vite',
    setting: 'dependencies of `package.json` are external by default',
    output: 'vite.mjs',
    bundle: async (output: string) => {
      const rollupOptions = { output: { entryFileNames: output } };
      const build = { ssr: 'main.mjs', outDir: '.', emptyOutDir: false, rollupOptions };
      await buildWithVite({ configFile: false, logLevel: 'error', root: project, build });
    },
  },
] as const;

test.each(recipes)(
  'a bundle that $title makes as the page says has all that the library needs',
  async ({ setting, output, bundle }) => {
    const page = await readFile(join(root, 'docs/limits.md'), 'utf8');
    expect(page.includes(setting), 'the page says so').toBe(true);
    await bundle(output);
    const options = JSON.stringify({ dashboard: {} });
    const env = { ...process.env, NODE_ENV: 'test', DATABASE: database.url, OPTIONS: options };
    const { stdout } = await run(process.execPath, [output], { cwd: project, env });
    expect(stdout).toBe('hello bundle');
  },
  60_000,
);
