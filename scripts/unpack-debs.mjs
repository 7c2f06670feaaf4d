// Debian's packages for a user without any right: fetched and checked by apt, unpacked in a cache folder of the user, not installed.
import { accessSync, constants, lstatSync } from 'node:fs';
import { chmod, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { runProgram } from './run-program.mjs';

/** What apt is told whatever it does. */
export const aptOptions = ['-o', 'Acquire::Retries=2', '-o', 'Acquire::http::Timeout=30'];

/** Whether only this user can have put something there. */
export function isOwn(folder) {
  try {
    const { uid, mode } = lstatSync(folder);
    accessSync(folder, constants.W_OK);
    return uid === process.getuid?.() && (mode & 0o22) === 0;
  } catch {
    return false;
  }
}

/**
 * The first of these that is a folder of this user's own, or becomes one.
 *
 * @param mode of a folder that is made
 */
export async function makeCache(caches, mode = 0o700) {
  for (const cache of caches) {
    await mkdir(cache, { recursive: true, mode }).catch(() => undefined);
    if (isOwn(cache)) return cache;
  }
  throw new Error(`neither ${caches.join(' nor ')} can be a folder of this user’s own.`);
}

/**
 * Fills a folder aside and puts it in place by one rename, so that an interrupted installation leaves nothing that looks
 * whole. Gives its path; throws what went wrong. Only one may run at a time for a cache.
 *
 * @param fill is given the folder aside and the place that it will have
 */
export async function fillPlace(cache, name, fill) {
  for (const entry of await readdir(cache)) {
    // Of those that were interrupted.
    if (entry.startsWith('.stage-')) await rm(join(cache, entry), { recursive: true, force: true });
  }
  const stage = join(cache, `.stage-${process.pid}`);
  const place = join(cache, name);
  try {
    await mkdir(stage);
    // Whatever the user's mask is, who may enter the cache may enter this.
    await chmod(stage, 0o755);
    await fill(stage, place);
    await rm(place, { recursive: true, force: true });
    await rename(stage, place);
  } finally {
    await rm(stage, { recursive: true, force: true });
  }
  return place;
}

/**
 * Fetches packages and unpacks them in the stage's `root`.
 *
 * @param choose gives the names of the packages, for the options that apt is called with
 * @param own options with which apt finds packages that the machine's lists do not have; without them it looks there first
 */
export async function unpackDebs(stage, options, choose, own) {
  const debs = join(stage, 'debs');
  await mkdir(debs);
  try {
    await download(stage, options, choose, own);
    for (const deb of (await readdir(debs)).filter((name) => name.endsWith('.deb'))) {
      await run('dpkg', ['-x', join(debs, deb), join(stage, 'root')]);
    }
  } finally {
    for (const name of ['debs', 'lists', 'cache'])
      await rm(join(stage, name), { recursive: true, force: true });
  }
}

/** What apt would install for these, as `name=version`; what the machine has already is not among it. */
export async function planInstallation(options, packages) {
  const plan = await run('apt-get', [...options, '-s', 'install', '--no-install-recommends', ...packages]);
  // Inst libfoo1 [1.0-1] (1.0-2 Debian:12/stable [amd64])
  const lines = plan.matchAll(/^Inst (\S+) (?:\[[^\]]*\] )?\((\S+)/gm);
  return [...lines].map(([, name, version]) => `${name}=${version}`);
}

/** The folders of libraries below an unpacked root, as paths in it. */
export async function libraryFolders(root) {
  const folders = await Promise.all(
    ['usr/lib', 'lib'].map(async (folder) => {
      const names = await readdir(join(root, folder)).catch(() => []);
      return names.filter((name) => name.includes('-linux-')).map((name) => `${folder}/${name}`);
    }),
  );
  return folders.flat();
}

async function download(stage, options, choose, own) {
  if (own === undefined) {
    try {
      return await downloadWith(options, stage, choose);
    } catch {
      // The machine's lists of packages are not there yet, or name what is no longer offered: own ones, then.
    }
  }
  await mkdir(join(stage, 'lists/partial'), { recursive: true });
  await mkdir(join(stage, 'cache/archives/partial'), { recursive: true });
  const folders = ['-o', `Dir::State::lists=${stage}/lists`, '-o', `Dir::Cache=${stage}/cache`];
  // The user for whom apt gives its rights up, when root calls it, may not enter these.
  const ours = [...options, '-o', 'APT::Sandbox::User=root', ...(own ?? []), ...folders];
  // Its hooks may fail for a user without rights, which harms nothing unless there is nothing to fetch either.
  const update = await runProgram('apt-get', [...ours, 'update']);
  try {
    return await downloadWith(ours, stage, choose);
  } catch (error) {
    if (update.fault === undefined) throw error;
    throw new Error(`${error.message} Before that, apt-get update: ${update.fault}`, { cause: error });
  }
}

async function downloadWith(options, stage, choose) {
  const wanted = await choose(options);
  await run('apt-get', [...options, 'download', ...wanted], join(stage, 'debs'));
}

/** Runs a program to its end; gives what it printed, and throws when it fails. */
export async function run(command, args, cwd) {
  const { stdout, fault } = await runProgram(command, args, { cwd });
  if (fault !== undefined) throw new Error(`${command} ${args.join(' ').slice(0, 300)}: ${fault}`);
  return stdout;
}
