// Runs before `npm start`, `npm test` and the others: installs the packages when they are missing or are not those
// of package-lock.json, so that a fresh clone needs no other command. Only what Node brings, and quick when all is
// well.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { takeInstallLock } from './install-lock.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [major, minor] = process.versions.node.split('.').map(Number);

if (major < 20 || (major === 20 && minor < 19)) {
  stop(
    `nestjs-tarefa needs Node.js 20.19 or newer, and this is ${process.version}. Install a newer Node.js.`,
  );
}
if (findFault() !== undefined) await underLock(install);

/** What is wrong with node_modules, as the end of a sentence; undefined when nothing is. */
function findFault() {
  const wanted = readPackages(join(root, 'package-lock.json'));
  if (wanted === undefined) stop('package-lock.json is missing or damaged; restore it with `git checkout`.');
  // npm writes this file at the very end of an installation.
  const installed = readPackages(join(root, 'node_modules/.package-lock.json'));
  if (installed === undefined) return 'they are not installed yet';
  for (const [path, { version, optional, link }] of Object.entries(wanted)) {
    if (path === '' || link) continue;
    const found = installed[path];
    if (found === undefined && optional) continue;
    if (found?.version !== version) return `${nameOf(path)} is not at version ${version}`;
    if (!matches(found.os, process.platform) || !matches(found.cpu, process.arch)) {
      return `they were installed on another platform (${nameOf(path)})`;
    }
    if (!existsSync(join(root, path, 'package.json'))) return `${nameOf(path)} is missing`;
  }
  return undefined;
}

function install() {
  // Another script may have installed while this one waited for the lock.
  const fault = findFault();
  if (fault === undefined) return;
  print(`Installing packages with \`npm ci\`, because ${fault}.`);
  const args = ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund'];
  // Below `npm start`, npm says where it is; on its own the script takes the one in PATH.
  const npm = process.env.npm_execpath;
  const { status, error } = npm?.endsWith('npm-cli.js')
    ? spawnSync(process.execPath, [npm, ...args], { cwd: root, stdio: 'inherit' })
    : spawnSync('npm', args, { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' });
  if (error) stop(`npm could not be started: ${error.message}`);
  if (status !== 0) {
    stop(`\`npm ci\` failed (exit code ${status ?? 'none'}); its messages are above. Then run this again.`);
  }
  const left = findFault();
  if (left !== undefined) stop(`\`npm ci\` ended well, but ${left}. Remove node_modules and run this again.`);
}

/**
 * One installation at a time: `npm ci` begins by removing node_modules. The lock is outside for the same reason.
 */
async function underLock(work) {
  const hash = createHash('sha256').update(root).digest('hex').slice(0, 16);
  const lock = join(tmpdir(), `nestjs-tarefa-install-${process.getuid?.() ?? 'user'}-${hash}`);
  await takeInstallLock(lock, () =>
    print('Waiting for another installation of the same packages to end.'),
  ).catch((error) => stop(error.message));
  work();
}

function readPackages(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

/** As npm reads the fields `os` and `cpu`: a list of names, or of names with `!`. */
function matches(list, name) {
  if (list === undefined) return true;
  if (list.includes(`!${name}`)) return false;
  return list.includes(name) || list.every((entry) => entry.startsWith('!'));
}

function nameOf(path) {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

function print(line) {
  process.stderr.write(`${line}\n`);
}

function stop(line) {
  print(line);
  process.exit(1);
}
