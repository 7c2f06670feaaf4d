import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'vite';
import { beforeAll, expect, inject, test } from 'vitest';
import { ownFile } from '../../lib/values/own-file.js';
import { useDatabase } from '../support/database.js';
import { makeTemporaryFolder } from '../support/folders.js';
import { applicationFrom } from './bundled-application.js';

const run = promisify(execFile);

/** What Nest and `pg` look for, and do without. */
const optional = [
  '@nestjs/microservices',
  '@nestjs/microservices/microservices-module.js',
  '@nestjs/websockets',
  '@nestjs/websockets/socket-module.js',
  'class-transformer',
  'class-transformer/storage',
  'class-validator',
  'pg-cloudflare',
  'pg-native',
];

const database = await useDatabase();
let folder: string;

beforeAll(async () => {
  folder = await makeTemporaryFolder();
  const entry = join(inject('buildDir'), 'bundled.mjs');
  await writeFile(entry, applicationFrom('./lib/index.js'));
  await build({
    configFile: false,
    logLevel: 'error',
    root: inject('buildDir'),
    ssr: { noExternal: true, external: optional },
    build: {
      ssr: entry,
      outDir: folder,
      emptyOutDir: false,
      target: 'node20',
      minify: true,
      rollupOptions: { output: { format: 'cjs', entryFileNames: 'main.cjs', codeSplitting: false } },
    },
  });
}, 120_000);

/** Runs the bundle where there are no packages. */
async function runBundle(options: object): Promise<string> {
  const env = { ...process.env, NODE_ENV: 'test', DATABASE: database.url, OPTIONS: JSON.stringify(options) };
  const { stdout } = await run(process.execPath, ['main.cjs'], { cwd: folder, env });
  return stdout;
}

test('in one minified file of CommonJS, without any package beside it, an application runs its tasks', async () => {
  expect(await runBundle({})).toBe('hello bundle');
});

test('what needs files that a bundle lacks is refused at the start, with the line that helps', async () => {
  const answer = await runBundle({ dashboard: {} });
  expect(answer).toContain(
    'OPTIONS_INVALID The dashboard needs the file dashboard/page/index.html of nestjs-tarefa',
  );
  expect(answer).toContain('--packages=external for esbuild, externals: [nodeExternals()] for webpack');
});

test('threads have their files where the library is compiled', () => {
  for (const path of [
    'storage/postgres/connections/lease-thread.js',
    'storage/mysql/connections/lease-thread.js',
    'storage/mysql/connections/mysql-session-thread.js',
  ]) {
    expect(ownFile(path, 'A test').pathname).toMatch(new RegExp(`/lib/${path}$`));
  }
  expect(() => ownFile('nowhere.js', 'A test')).toThrow(
    /^A test needs the file nowhere\.js of nestjs-tarefa/,
  );
});
