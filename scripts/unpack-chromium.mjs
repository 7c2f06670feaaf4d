// Debian's Chromium for a user without any right: fetched and checked by apt, unpacked in a cache folder of the user.
import { accessSync, constants, lstatSync } from 'node:fs';
import { chmod, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { runProgram } from './run-program.mjs';

const home = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
// The second for system users, who have no home.
const caches = [join(home, 'tarefa-chromium'), join(tmpdir(), `tarefa-chromium-${process.getuid?.()}`)];

/** Where unpacked copies are, if there are any. */
export function unpackedChromiums() {
  return caches.filter(isOwn).map((cache) => join(cache, 'chromium/chromium'));
}

/**
 * Unpacks the packages aside and puts them in place by one rename, so that an interrupted installation leaves nothing
 * that looks whole. Gives its path; throws what went wrong. Only one may run at a time for a user.
 */
export async function unpackChromium(packages, aptOptions) {
  const cache = await makeCache();
  process.stderr.write(`Unpacking Debian’s package of Chromium in ${cache}, once.\n`);
  for (const name of await readdir(cache)) {
    // Of those that were interrupted.
    if (name.startsWith('.stage-')) await rm(join(cache, name), { recursive: true, force: true });
  }
  const stage = join(cache, `.stage-${process.pid}`);
  const place = join(cache, 'chromium');
  try {
    await mkdir(join(stage, 'debs'), { recursive: true });
    for (const deb of await download(stage, packages, aptOptions)) {
      await run('dpkg', ['-x', join(stage, 'debs', deb), join(stage, 'root')]);
    }
    await rm(join(stage, 'debs'), { recursive: true });
    await writeStarter(stage, place);
    await rm(place, { recursive: true, force: true });
    await rename(stage, place);
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
  return join(place, 'chromium');
}

async function makeCache() {
  for (const cache of caches) {
    await mkdir(cache, { recursive: true, mode: 0o700 }).catch(() => undefined);
    if (isOwn(cache)) return cache;
  }
  throw new Error(`neither ${caches.join(' nor ')} can be a folder of this user’s own.`);
}

/** Whether only this user can have put something there. */
function isOwn(folder) {
  try {
    const { uid, mode } = lstatSync(folder);
    accessSync(folder, constants.W_OK);
    return uid === process.getuid?.() && (mode & 0o22) === 0;
  } catch {
    return false;
  }
}

/** The names of the fetched files; what the machine has already is not fetched. */
async function download(stage, packages, aptOptions) {
  try {
    return await downloadWith(aptOptions, stage, packages);
  } catch {
    // The machine's lists of packages are not there yet, or name what is no longer offered: own ones, then.
    await mkdir(join(stage, 'lists/partial'), { recursive: true });
    await mkdir(join(stage, 'cache/archives/partial'), { recursive: true });
    const own = ['-o', `Dir::State::lists=${stage}/lists`, '-o', `Dir::Cache=${stage}/cache`];
    // Its hooks may fail for a user without rights, which harms nothing unless there is nothing to fetch either.
    const update = await runProgram('apt-get', [...aptOptions, ...own, 'update']);
    try {
      return await downloadWith([...aptOptions, ...own], stage, packages);
    } catch (error) {
      if (update.fault === undefined) throw error;
      throw new Error(`${error.message} Before that, apt-get update: ${update.fault}`, { cause: error });
    }
  } finally {
    for (const name of ['lists', 'cache']) await rm(join(stage, name), { recursive: true, force: true });
  }
}

async function downloadWith(options, stage, packages) {
  const plan = await run('apt-get', [...options, '-s', 'install', '--no-install-recommends', ...packages]);
  // Inst libfoo1 [1.0-1] (1.0-2 Debian:12/stable [amd64])
  const lines = plan.matchAll(/^Inst (\S+) (?:\[[^\]]*\] )?\((\S+)/gm);
  const wanted = [...lines].map(([, name, version]) => `${name}=${version}`);
  // The machine has it, and it does not start: a copy may.
  if (!wanted.some((name) => name.startsWith('chromium='))) wanted.push('chromium', 'chromium-common');
  const cwd = join(stage, 'debs');
  await run('apt-get', [...options, 'download', ...wanted], cwd);
  return (await readdir(cwd)).filter((name) => name.endsWith('.deb'));
}

/** A program that starts the unpacked Chromium with the libraries and fonts beside it. */
async function writeStarter(stage, place) {
  const root = join(place, 'root');
  const libraries = [`${root}/usr/lib/chromium`];
  for (const folder of ['usr/lib', 'lib']) {
    const names = await readdir(join(stage, 'root', folder)).catch(() => []);
    for (const name of names.filter((entry) => entry.includes('-linux-'))) {
      libraries.push(...['', '/nss', '/pulseaudio'].map((part) => `${root}/${folder}/${name}${part}`));
    }
  }
  const fonts = ['/usr/share/fonts', '/usr/local/share/fonts', `${root}/usr/share/fonts`];
  const lines = [
    ...fonts.map((folder) => `<dir>${folder}</dir>`),
    `<cachedir>${place}/font-cache</cachedir>`,
  ];
  await writeFile(
    join(stage, 'fonts.conf'),
    `<?xml version="1.0"?>\n<fontconfig>\n${lines.join('\n')}\n</fontconfig>\n`,
  );
  const starter = [
    '#!/bin/sh',
    `export LD_LIBRARY_PATH='${libraries.join(':')}' FONTCONFIG_FILE='${place}/fonts.conf'`,
    `exec '${root}/usr/lib/chromium/chromium' "$@"`,
  ];
  await writeFile(join(stage, 'chromium'), `${starter.join('\n')}\n`);
  await chmod(join(stage, 'chromium'), 0o755);
}

async function run(command, args, cwd) {
  const { stdout, fault } = await runProgram(command, args, { cwd });
  if (fault !== undefined) throw new Error(`${command} ${args.join(' ').slice(0, 300)}: ${fault}`);
  return stdout;
}
