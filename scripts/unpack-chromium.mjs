// Debian's Chromium for a user without any right, in a cache folder of the user.
import { chmod, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fillPlace, isOwn, libraryFolders, makeCache, planInstallation, unpackDebs } from './unpack-debs.mjs';

const home = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
// The second for system users, who have no home.
const caches = [join(home, 'tarefa-chromium'), join(tmpdir(), `tarefa-chromium-${process.getuid?.()}`)];

/** Where unpacked copies are, if there are any. */
export function unpackedChromiums() {
  return caches.filter(isOwn).map((cache) => join(cache, 'chromium/chromium'));
}

/** Unpacks the packages; gives the path of a program that starts them. Only one may run at a time for a user. */
export async function unpackChromium(packages, aptOptions) {
  const cache = await makeCache(caches);
  process.stderr.write(`Unpacking Debian’s package of Chromium in ${cache}, once.\n`);
  const place = await fillPlace(cache, 'chromium', async (stage, itsPlace) => {
    await unpackDebs(stage, aptOptions, (options) => choosePackages(options, packages));
    await writeStarter(stage, itsPlace);
  });
  return join(place, 'chromium');
}

async function choosePackages(options, packages) {
  const wanted = await planInstallation(options, packages);
  // The machine has it, and it does not start: a copy may.
  if (!wanted.some((name) => name.startsWith('chromium='))) wanted.push('chromium', 'chromium-common');
  return wanted;
}

/** A program that starts the unpacked Chromium with the libraries and fonts beside it. */
async function writeStarter(stage, place) {
  const root = join(place, 'root');
  const libraries = [`${root}/usr/lib/chromium`];
  for (const folder of await libraryFolders(join(stage, 'root'))) {
    libraries.push(...['', '/nss', '/pulseaudio'].map((part) => `${root}/${folder}${part}`));
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
