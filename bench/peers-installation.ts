import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { inSources } from './folders.js';

const node = inSources(`peers/node_modules/node/bin/${process.platform === 'win32' ? 'node.exe' : 'node'}`);

/** Installed versions of the packages that `bench/peers/package.json` names. */
export type PeerVersions = Readonly<Record<string, string>>;

/** The peers' Node.js; undefined while it is not installed. */
export function peersNode(): string | undefined {
  return existsSync(node) ? node : undefined;
}

/**
 * Installs the peers, as their lock file says, unless they are there. They are no dependencies of the library.
 */
export function installPeers(log: (line: string) => void): void {
  if (isInstalled()) return;
  log('installing the peers and their Node.js into bench/peers/node_modules with `npm ci`');
  const npm = process.env['npm_execpath'];
  const args = ['ci', '--no-audit', '--no-fund', '--loglevel=error'];
  const options = { cwd: inSources('peers'), stdio: ['ignore', 2, 2] as const, env: outsideNpm() };
  const { status, error } = npm?.endsWith('npm-cli.js')
    ? spawnSync(process.execPath, [npm, ...args], { ...options, stdio: [...options.stdio] })
    : spawnSync('npm', args, { ...options, stdio: [...options.stdio], shell: process.platform === 'win32' });
  if (status === 0 && isInstalled()) return;
  throw new Error(
    `the peers could not be installed (${error?.message ?? `npm ci ended with ${status ?? 'a signal'}`}). ` +
      'See above, then try `npm ci` in bench/peers; or run without them: --peer tarefa --peer bare',
  );
}

/** Of the packages and of Node.js, as they are installed. */
export function peerVersions(): PeerVersions {
  const wanted = Object.keys(readDependencies());
  return Object.fromEntries(wanted.flatMap((name) => [[name, installedVersion(name) ?? 'not installed']]));
}

function isInstalled(): boolean {
  const complete = Object.entries(readDependencies()).every(
    ([name, version]) => installedVersion(name) === version,
  );
  return complete && existsSync(node) && runs(node);
}

function runs(program: string): boolean {
  try {
    return execFileSync(program, ['--version'], { encoding: 'utf8' }).startsWith('v');
  } catch {
    return false;
  }
}

function readDependencies(): Readonly<Record<string, string>> {
  return (readJson('peers/package.json') as { dependencies: Record<string, string> }).dependencies;
}

function installedVersion(name: string): string | undefined {
  const file = `peers/node_modules/${name}/package.json`;
  return existsSync(inSources(file)) ? (readJson(file) as { version: string }).version : undefined;
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(inSources(path), 'utf8'));
}

/** `npm run` sets variables for the package that it runs; the peers are another one. */
function outsideNpm(): NodeJS.ProcessEnv {
  const isOfRun = /^npm_(package|lifecycle|config_local_prefix)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOfRun.test(name)));
}
