import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { isRunning } from '../../lib/embedded/process-table.js';
import { withStartLock } from '../../lib/embedded/start-lock.js';
import { compiledCache as cache, compiledFolder as folder, compiledRuns as runs } from './compiled-folder.js';

const root = resolve(import.meta.dirname, '../..');
const run = promisify(execFile);

/** The compiled library and child programs of one test run. */
export interface Build {
  readonly folder: string;
  remove(): Promise<void>;
}

/**
 * Compiles `lib` and `test/support/children` to plain JavaScript, because a process that is forked by a test has no
 * vitest to translate TypeScript and decorators for it. Types are not checked here; `npm run check` does that.
 *
 * Each run gets its own copy: another run may compile a later state of the sources meanwhile.
 */
export async function buildForChildren(): Promise<Build> {
  for (const one of [cache, runs]) await mkdir(one, { recursive: true });
  await withStartLock(cache, async () => {
    await compile(join(cache, 'build'));
    await removeOldRuns();
    await cp(join(cache, 'build'), folder, { recursive: true });
  });
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

async function compile(outDir: string): Promise<void> {
  await mkdir(outDir, { recursive: true });
  await writeFile(join(outDir, 'package.json'), '{ "type": "module" }\n');
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  const args = ['-p', join(root, 'test/support/children/tsconfig.json'), '--outDir', outDir, '--noCheck'];
  const incremental = ['--incremental', '--tsBuildInfoFile', join(outDir, '.tsbuildinfo')];
  try {
    await run(process.execPath, [tsc, ...args, ...incremental], { cwd: root });
  } catch (error) {
    const output = error instanceof Error && 'stdout' in error ? String(error.stdout) : '';
    throw new Error(`tsc could not compile the library for the tests:\n${output}`, { cause: error });
  }
  await run(process.execPath, [join(root, 'scripts/build-page.mjs'), join(outDir, 'lib')]);
}

/** Of runs that were killed. */
async function removeOldRuns(): Promise<void> {
  for (const name of await readdir(runs)) {
    const pid = Number(/^run-(\d+)$/.exec(name)?.[1]);
    const isOld = pid === process.pid || (pid > 0 && !isRunning({ pid, started: undefined }));
    if (isOld) await rm(join(runs, name), { recursive: true, force: true });
  }
}
