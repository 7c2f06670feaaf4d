// `npm run release:check`: looks at everything that must be right before `npm publish`, and says so line by line.
//   node scripts/release-check.mjs [--tarball FILE]     a tarball that is there already instead of a new one
// Exit code 1 when something is wrong. Changes nothing but dist/lib, which is rebuilt. docs/releasing.md has the whole procedure.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const allowedFiles =
  /^(dist\/lib\/.+\.(js|js\.map|d\.ts)|schematics\/.+\.json|dist\/lib\/dashboard\/page\/\w+\.(html|css|svg)|docs\/.+\.md|CHANGELOG\.md|LICENSE|README\.md|package\.json)$/;
// With the sources in the maps.
const mostPackedBytes = 3_000_000;
const mostFileBytes = 300_000;
const semver = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;

const { values } = parseArgs({ options: { tarball: { type: 'string' } } });
const manifest = readJson('package.json');
const { version } = manifest;
let failed = 0;

check('package.json: the version is a semantic version', semver.test(version) || `it is ${version}`);
check('lib/version.ts has the same version', sameVersion());
check('package-lock.json has the same version', readJson('package-lock.json').version === version);
check('CHANGELOG.md has one section of this version, with its date, before all others', changelog());
check('git: everything is committed', isClean());
check(
  `git: there is no tag v${version} yet`,
  git('tag', '--list', `v${version}`) === '' || 'it was released',
);
check('LICENSE is there, and is that of package.json', license());
check('package.json: may be published, publicly and with provenance', publishing());
check('package.json: says where its sources are, which provenance is about', repository());
check('package.json: nothing runs when it is installed', installScripts());
check('package.json: says which Node.js it needs', /^>=\d+\.\d+\.\d+$/.test(manifest.engines?.node ?? ''));
check('package.json: dependencies come from the registry, in ranges', dependencies());
check('package.json: peers fit what is tested', peers());
checkTarball();

process.stdout.write(failed === 0 ? '\nready to be released\n' : `\n${failed} to be put right first\n`);
process.exitCode = failed === 0 ? 0 : 1;

/** @param outcome true, or what is wrong */
function check(what, outcome) {
  if (outcome !== true) failed += 1;
  const reason = typeof outcome === 'string' ? `: ${outcome}` : '';
  process.stdout.write(outcome === true ? `ok      ${what}\n` : `FAILED  ${what}${reason}\n`);
}

function sameVersion() {
  const [, found] = /version = '([^']*)'/.exec(readFileSync('lib/version.ts', 'utf8')) ?? [];
  return found === version || `it has ${found}`;
}

function changelog() {
  const sections = [...readFileSync('CHANGELOG.md', 'utf8').matchAll(/^## \[([^\]]+)\](?: - (.+))?$/gm)];
  const own = sections.filter(([, name]) => name === version);
  if (own.length !== 1) return `it has ${own.length}`;
  const [[, , date = 'no date']] = own;
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(date) && !Number.isNaN(Date.parse(date));
  if (!isDate) return `"${date}" is no date: write the day of the release`;
  if (Date.parse(date) > Date.now()) return `${date} is in the future`;
  const [[, first]] = sections.filter(([, name]) => name.toLowerCase() !== 'unreleased');
  return first === version || `${first} stands before it`;
}

function isClean() {
  const changes = git('status', '--porcelain');
  if (changes === undefined) return 'this is no git repository';
  const lines = changes.split('\n').filter(Boolean);
  return lines.length === 0 || `${lines.length} changes, such as ${lines[0].trim()}`;
}

function license() {
  if (!existsSync('LICENSE')) return 'there is no file LICENSE';
  return (
    readFileSync('LICENSE', 'utf8').startsWith(`${manifest.license} License`) ||
    `it is not ${manifest.license}`
  );
}

function publishing() {
  if (manifest.private) return 'private is set';
  const { access, provenance } = manifest.publishConfig ?? {};
  if (access !== 'public') return 'publishConfig.access must be public';
  return provenance === true || 'publishConfig.provenance must be true';
}

function repository() {
  const { url } = manifest.repository ?? {};
  if (url === undefined) {
    return 'set repository to { "type": "git", "url": "git+https://…" }, the address that the release is built from';
  }
  return (
    /^git\+https:\/\/[^\s/]+\/[^\s/]+\/[^\s/]+\.git$/.test(url) ||
    `${url} is not of the form git+https://host/owner/name.git`
  );
}

function installScripts() {
  const found = ['preinstall', 'install', 'postinstall', 'prepare'].filter(
    (name) => manifest.scripts?.[name],
  );
  return found.length === 0 || `remove ${found.join(', ')}`;
}

function dependencies() {
  const all = { ...manifest.dependencies, ...manifest.peerDependencies };
  const tested = manifest.devDependencies ?? {};
  // Of a package whose versions are all before a release no range but * has any.
  const isRange = ([name, range]) => (tested[name]?.includes('-') ? range === '*' : /^(\^|>=)\d/.test(range));
  const odd = Object.entries(all).filter((entry) => !isRange(entry));
  return odd.length === 0 || odd.map(([name, range]) => `${name} is "${range}"`).join(', ');
}

function peers() {
  const { peerDependencies = {}, peerDependenciesMeta = {}, devDependencies = {} } = manifest;
  const unknown = Object.keys(peerDependenciesMeta).filter((name) => !(name in peerDependencies));
  if (unknown.length > 0) return `${unknown.join(', ')} is optional, but no peer`;
  const untested = Object.entries(peerDependencies).filter(
    ([name, range]) => !(name in devDependencies && satisfies(devDependencies[name], range)),
  );
  return (
    untested.length === 0 ||
    untested.map(([name, range]) => `${name} ${range} is tested with ${devDependencies[name]}`).join(', ')
  );
}

/** As npm judges, for the ranges that are used here: `^1.2.3`, `>=1.2.3`, several with `||`, and `*`. */
function satisfies(wanted, range) {
  if (range === '*') return true;
  // No other range has versions before a release.
  if (wanted.includes('-')) return false;
  return range.split('||').some((part) => {
    const [, sign, least] = /^(\^|>=)(\S+)$/.exec(part.trim()) ?? [];
    if (least === undefined) return false;
    const [one, other] = [wanted, least].map((text) => text.split(/[.-]/, 3).map(Number));
    const index = other.findIndex((number, place) => number !== one[place]);
    if (index === -1) return true;
    const free = other.findIndex((number) => number !== 0);
    return one[index] > other[index] && (sign === '>=' || index > free);
  });
}

function checkTarball() {
  const folder = mkdtempSync(join(tmpdir(), 'tarefa-release-'));
  try {
    const tarball = values.tarball ? resolve(values.tarball) : pack(folder);
    const { files, size } = listTarball(tarball);
    execFileSync('tar', ['-xzf', tarball, '-C', folder]);
    const names = files.map(({ path }) => path);
    const textOf = (name) => readFileSync(join(folder, 'package', name), 'utf8');
    const none = (found) => found.length === 0 || found.slice(0, 5).join(', ');
    check(
      'tarball: holds what belongs there and nothing else',
      none(names.filter((name) => !allowedFiles.test(name))),
    );
    const wanted = ['package.json', 'README.md', 'LICENSE', 'CHANGELOG.md', ...targets(manifest)];
    check(
      'tarball: lacks nothing that package.json names',
      none(wanted.filter((name) => !names.includes(name))),
    );
    const isSame = names.includes('package.json') && JSON.parse(textOf('package.json')).version === version;
    check('tarball: is of this version', isSame);
    const scripts = names.filter((name) => name.endsWith('.js'));
    const lost = scripts.filter((name) => hasLostMap(name, names, textOf));
    check('tarball: maps are there, with their sources in them', none(lost));
    const secrets = names.filter((name) =>
      /-----BEGIN [A-Z ]*PRIVATE KEY-----\n[A-Za-z0-9+/]{40}|_authToken=\S/.test(textOf(name)),
    );
    check('tarball: no keys or tokens', none(secrets));
    const bins = Object.values(manifest.bin ?? {}).map(withoutDot);
    const lame = bins.filter((name) => {
      const file = files.find(({ path }) => path === name);
      return !file || (file.mode & 0o111) !== 0o111 || !textOf(name).startsWith('#!/usr/bin/env node\n');
    });
    check('tarball: commands can be run', none(lame));
    const large = files.filter((file) => file.size > mostFileBytes).map(({ path }) => path);
    check('tarball: no file is too large', none(large));
    check(
      'tarball: is small',
      size <= mostPackedBytes || `it has ${size} bytes, more than ${mostPackedBytes}`,
    );
  } catch (error) {
    check('tarball: can be made and read', error.stderr?.toString() || error.message);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whether a script names a map that is not beside it, or whose sources a debugger would look for elsewhere. */
function hasLostMap(script, names, textOf) {
  const [, map] = /^\/\/# sourceMappingURL=(.*)$/m.exec(textOf(script)) ?? [];
  if (map === undefined) return false;
  if (map !== `${basename(script)}.map` || !names.includes(`${script}.map`)) return true;
  const { sources, sourcesContent } = JSON.parse(textOf(`${script}.map`));
  return !sources.every((_, index) => typeof sourcesContent?.[index] === 'string');
}

function targets({ main, types, schematics, bin = {}, exports = {} }) {
  const entries = Object.values(exports).flatMap((entry) =>
    typeof entry === 'string' ? entry : Object.values(entry),
  );
  return [main, types, schematics, ...Object.values(bin), ...entries].map(withoutDot);
}

function withoutDot(path) {
  return path.replace(/^\.\//, '');
}

function pack(folder) {
  const [{ filename }] = npm('pack', '--json', '--pack-destination', folder);
  return join(folder, filename);
}

function listTarball(tarball) {
  const [listed] = npm('pack', tarball, '--dry-run', '--json', '--ignore-scripts', '--offline');
  return listed;
}

/** What a build prints comes before the answer. */
function npm(...args) {
  const cli = process.env.npm_execpath;
  const options = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 64 * 1_048_576 };
  const answer = cli?.endsWith('npm-cli.js')
    ? execFileSync(process.execPath, [cli, ...args], options)
    : execFileSync('npm', args, { ...options, shell: process.platform === 'win32' });
  return JSON.parse(answer.slice(answer.indexOf('[\n')));
}

/** Undefined where git has no answer. */
function git(...args) {
  try {
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}

function readJson(file) {
  return JSON.parse(readFileSync(file, 'utf8'));
}
