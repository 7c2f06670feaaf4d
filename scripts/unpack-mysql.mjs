// MariaDB and MySQL for the tests: Debian's packages in a cache folder of the user, nothing installed.
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from './run-program.mjs';
import {
  aptOptions,
  fillPlace,
  isOwn,
  libraryFolders,
  makeCache,
  planInstallation,
  run,
  unpackDebs,
} from './unpack-debs.mjs';

const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** What is unpacked, and the oldest version that the library works with. */
export const servers = {
  mariadb: { title: 'MariaDB', program: 'mariadbd', oldest: [10, 8, 0], unpack: unpackMariadb },
  mysql: { title: 'MySQL', program: 'mysqld', oldest: [8, 0, 22], unpack: unpackMysql },
};

/** The folder of an unpacked server, if there is one; it was tried when it was unpacked. */
export function unpackedServer(flavour) {
  return cachesOf(flavour)
    .filter(isOwn)
    .map((cache) => join(cache, flavour))
    .find((place) => existsSync(join(place, 'server')));
}

/** Why the server in a folder is none that the library works with, as a sentence; undefined when it is one. */
export async function findFault(flavour, place) {
  const { title, oldest } = servers[flavour];
  const { stdout, fault } = await runProgram(join(place, 'server'), ['--version'], { timeoutMs: 60_000 });
  if (fault !== undefined) return fault;
  const [, ...version] = /Ver (\d+)\.(\d+)\.(\d+)/.exec(stdout)?.map(Number) ?? [];
  if (version.length === 0) return `it says of itself: ${stdout.trim()}`;
  const difference = version.map((part, index) => part - oldest[index]).find((part) => part !== 0) ?? 0;
  return difference < 0
    ? `it is ${title} ${version.join('.')}, and ${oldest.join('.')} is the oldest that will do.`
    : undefined;
}

/** Unpacks a server and tries it; gives its folder. Only one may run at a time for a user. */
export async function unpackServer(flavour) {
  const { title, unpack } = servers[flavour];
  // A server does not run as root: another user has to get in.
  const mode = process.getuid?.() === 0 ? 0o755 : 0o700;
  const cache = await makeCache(cachesOf(flavour), mode);
  await chmod(cache, mode);
  process.stderr.write(`Unpacking Debian’s package of ${title} in ${cache}, once.\n`);
  return fillPlace(cache, flavour, async (stage) => {
    await unpack(stage);
    await writeStarter(flavour, stage);
    const fault = await findFault(flavour, stage);
    if (fault !== undefined) throw new Error(`${servers[flavour].program}, just unpacked: ${fault}`);
  });
}

/** The second for system users, who have no home. What is in root's home is closed to the user of the server. */
function cachesOf(flavour) {
  const name = `tarefa-${flavour}`;
  const uid = process.getuid?.();
  const home = process.env.XDG_CACHE_HOME || (uid === 0 ? '/var/cache' : join(homedir(), '.cache'));
  return [join(home, name), join(tmpdir(), `${name}-${uid}`)];
}

async function unpackMariadb(stage) {
  await unpackDebs(stage, aptOptions, async (options) => {
    const wanted = await planInstallation(options, ['mariadb-server-core']);
    // The machine has it: a copy is taken anyway, because one runs as it was unpacked.
    if (!wanted.some((name) => name.startsWith('mariadb-server-core='))) wanted.push('mariadb-server-core');
    return wanted;
  });
}

/** Debian has MySQL in its newest suite alone, so its libraries are taken as well, down to libc. */
async function unpackMysql(stage) {
  const suite = join(stage, 'suite');
  await mkdir(suite);
  const site = await findSite();
  const signed = existsSync(keyring) ? `[signed-by=${keyring}] ` : '';
  await writeFile(join(suite, 'sources.list'), `deb ${signed}${site} sid main\n`);
  await writeFile(join(suite, 'status'), '');
  const own = [
    `Dir::Etc::sourcelist=${suite}/sources.list`,
    'Dir::Etc::sourceparts=/dev/null',
    'Dir::Etc::preferencesparts=/dev/null',
    // Nothing counts as installed.
    `Dir::State::status=${suite}/status`,
    'Acquire::Languages=none',
  ].flatMap((option) => ['-o', option]);
  await unpackDebs(stage, aptOptions, chooseMysqlPackages, own);
  await rm(suite, { recursive: true });
}

/** Where this machine's own packages come from, which apt tells without any list of packages. */
async function findSite() {
  const told = await run('apt-get', ['--print-uris', 'update']);
  const all = [...told.matchAll(/^'(\S+?)\/*\/dists\//gm)].map(([, site]) => site);
  const sites = all.filter((site) => !site.includes('security'));
  const site = sites.find((one) => one.endsWith('/debian')) ?? sites[0];
  if (site === undefined) throw new Error('apt knows no place to fetch packages from.');
  return site;
}

async function chooseMysqlPackages(options) {
  const planned = await planInstallation(options, ['mysql-server-core']);
  const needed = /^(lib|gcc-|mysql-server-core)/;
  const needless = /perl|libpam|libdb5|libaudit|libselinux1|libsemanage|libapt/;
  return planned.filter((name) => needed.test(name) && !needless.test(name));
}

/** A program that starts the server with the libraries and messages beside it; `--no-defaults` has to come first. */
async function writeStarter(flavour, stage) {
  const root = join(stage, 'root');
  const libraries = (await libraryFolders(root)).map((folder) => `$root/${folder}`).join(':');
  const loader = flavour === 'mysql' ? await findLoader(root) : undefined;
  const start =
    loader === undefined
      ? `export LD_LIBRARY_PATH="${libraries}"\nexec`
      : `exec "$root/${loader}" --library-path "${libraries}"`;
  const starter = [
    '#!/bin/sh',
    'root=$(dirname "$0")/root',
    'share=$root/usr/share/mysql',
    `${start} "$root/usr/sbin/${servers[flavour].program}" --no-defaults --basedir="$root/usr" \\`,
    '  --lc-messages-dir="$share" --character-sets-dir="$share/charsets" --plugin-dir="$root/usr/lib/mysql/plugin" "$@"',
  ];
  await writeFile(join(stage, 'server'), `${starter.join('\n')}\n`);
  await chmod(join(stage, 'server'), 0o755);
}

/** The loader of the unpacked libc, as a path in the root. */
async function findLoader(root) {
  for (const folder of ['usr/lib64', 'lib64', 'usr/lib', 'lib']) {
    const names = await readdir(join(root, folder)).catch(() => []);
    const name = names.find((entry) => /^ld-linux.*\.so/.test(entry));
    if (name !== undefined) return `${folder}/${name}`;
  }
  throw new Error('the unpacked libc has no loader.');
}
