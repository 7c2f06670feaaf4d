// `npm run docs:cli`: tries the command line as a new user would, and writes what was typed and answered to docs/cli.md.
//   node scripts/record-cli.mjs [--print] [--cli FILE] [--url URL]
//     --print    on standard output instead of docs/cli.md
//     --cli      the compiled command line; default: dist/lib/cli/main.js, which is built first
//     --url      a PostgreSQL that may make databases; default: an embedded one, for the time of this run
// What differs from run to run (times, sizes, speeds) is replaced, at equal length, so that two runs say the same.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { files, tour } from './cli-tour.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values } = parseArgs({
  options: { print: { type: 'boolean' }, cli: { type: 'string' }, url: { type: 'string' } },
});

const folder = mkdtempSync(join(tmpdir(), 'tarefa-tour-'));
chmodSync(folder, 0o755);
const cli = values.cli ? resolve(values.cli) : build();
const library = join(dirname(dirname(cli)), 'index.js');
const { Client } = createRequire(join(root, 'package.json'))('pg');
const server = values.url ? undefined : await startServer();
try {
  const text = await withDatabase(values.url ?? server.url, record);
  if (values.print) process.stdout.write(text);
  else writeFileSync(join(root, 'docs/cli.md'), text);
} finally {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** Makes every step, and answers the document. */
function record(url) {
  const [bin, work] = [join(folder, 'bin'), join(folder, 'work')];
  for (const path of [bin, work]) mkdirSync(path);
  chmodSync(cli, 0o755);
  symlinkSync(cli, join(bin, 'tarefa'));
  // Stands for npx, which would look for the package in a registry.
  writeFileSync(join(bin, 'npx'), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(work, name), text);
  const env = {
    PATH: `${bin}:${dirname(process.execPath)}:${process.env.PATH}`,
    HOME: folder,
    TZ: 'UTC',
    DATABASE_URL: url,
    QUEUE_TABLE: 'shop_queue',
    TAREFA_LIBRARY: pathToFileURL(library).href,
    TAREFA_TOUR_WORKER: join(root, 'scripts/cli-tour-worker.mjs'),
  };
  const parts = tour.map((step) => (typeof step === 'string' ? step : session(step, work, env)));
  return `${parts.join('\n\n')}\n`;
}

/** A block of commands with their answers; those of `silently` are run and not shown. */
function session({ commands = [], silently = [] }, cwd, env) {
  for (const command of silently) {
    const { status, stdout, stderr } = shell(command, cwd, env);
    if (status !== 0) throw new Error(`${command} ended with ${status}:\n${stdout}${stderr}`);
  }
  if (commands.length === 0) return '';
  const lines = commands.flatMap((command) => {
    const { status, stdout } = shell(`${command} 2>&1`, cwd, env);
    const said = steady(stdout.trimEnd())
      .split('\n')
      .filter((line, index, all) => all.length > 1 || line !== '');
    return [`$ ${command}`, ...said, ...(status === 0 ? [] : [`[exit code ${status}]`])];
  });
  return ['```console', ...lines, '```'].join('\n');
}

function shell(command, cwd, env) {
  const answer = spawnSync('sh', ['-c', command], { cwd, env, encoding: 'utf8', timeout: 60_000 });
  if (answer.error) throw answer.error;
  return answer;
}

/** What another run would say as well: widths of columns included. */
function steady(text) {
  const tomorrow = Date.now() + 86_400_000;
  return (
    text
      .replaceAll(/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z/g, (time) =>
        Date.parse(time) > tomorrow ? '2026-02-07T12:00:00.000Z' : '2026-01-31T12:00:00.000Z',
      )
      .replaceAll(/PostgreSQL \d+\.\d+/g, 'PostgreSQL 18.4')
      .replaceAll(/port \d+, database "tour_\d+"/g, 'port 5432, database "tour"')
      .replaceAll(/\(\d+\.\d s/g, '(0.1 s')
      .replaceAll(/[\d,]+ lines\/s/g, '30 lines/s')
      .replaceAll(/^(lag +)\d+\.\d s/gm, '$14.0 s')
      // How long attempts took, in tables.
      .replaceAll(/Z {2}\d[\d.]* (?:ms|s) +/g, 'Z  9 ms  ')
      .replaceAll(/ took +message/g, ' took  message')
      // Of a stack only where it begins.
      .replaceAll(/^( {4}at \S+) \(file:.*\/([^/]+)\)$\n( {4}at .*\n?)*/gm, '$1 ($2)\n')
  );
}

async function withDatabase(url, work) {
  const name = `tour_${process.pid}`;
  const address = new URL(url);
  const ask = async (sql) => {
    const client = new Client({ connectionString: url });
    await client.connect();
    await client.query(sql).finally(() => client.end());
  };
  await ask(`create database ${name}`);
  try {
    address.pathname = `/${name}`;
    return await work(address.href);
  } finally {
    await ask(`drop database ${name} with (force)`);
  }
}

async function startServer() {
  const { startEmbeddedPostgres } = await import(pathToFileURL(library).href);
  return startEmbeddedPostgres({ dataDir: join(folder, 'server') });
}

function build() {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  const { status } = spawnSync(process.execPath, [tsc, '-p', join(root, 'lib/tsconfig.json')], {
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
  return join(root, 'dist/lib/cli/main.js');
}
