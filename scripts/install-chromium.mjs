// Prints the path of a Chromium that works, for the tests of the dashboard. It takes the one that is there; where there
// is none it installs Debian's package: for the machine where it may, else unpacked in a cache folder of the user.
// Only what Node brings. CHROMIUM_PATH names one to take instead.
import { accessSync, constants, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { exitOnSignals, takeInstallLock } from './install-lock.mjs';
import { runProgram } from './run-program.mjs';
import { unpackChromium, unpackedChromiums } from './unpack-chromium.mjs';
import { aptOptions } from './unpack-debs.mjs';

// The font, because without any a page shows boxes, or nothing.
const packages = ['chromium', 'fonts-dejavu-core'];
const uid = process.getuid?.();
/** What was tried and why it did not do, for the message at the end. */
const faults = [];

const named = process.env.CHROMIUM_PATH;
if (named) await checkNamed();
process.stdout.write(`${named || (await findInstalled()) || (await installUnderLock())}\n`);

async function checkNamed() {
  const fault = await findFault(named);
  if (fault === undefined) return;
  stop(
    `CHROMIUM_PATH is ${named}, and that is no Chromium that works: ${fault}\n` +
      'Set it to one that does, or unset it to have one found or installed.',
  );
}

async function findInstalled() {
  for (const path of [...programs(), ...unpackedChromiums()].filter(isExecutable)) {
    const fault = await findFault(path);
    if (fault === undefined) return path;
    faults.push(`${path}: ${fault}`);
  }
  return undefined;
}

function programs() {
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
  const inPath = names.flatMap((name) => pathFolders().map((folder) => join(folder, name)));
  if (process.platform === 'darwin') {
    const apps = ['Chromium', 'Google Chrome'].map(
      (name) => `/Applications/${name}.app/Contents/MacOS/${name}`,
    );
    return [...inPath, ...apps, ...apps.map((app) => `${homedir()}${app}`)];
  }
  if (process.platform !== 'win32') return inPath;
  const folders = ['PROGRAMFILES', 'PROGRAMFILES(X86)', 'LOCALAPPDATA'].map(
    (name) => process.env[name] ?? 'C:',
  );
  const places = ['Chromium', 'Google/Chrome'].map((name) => join(name, 'Application/chrome.exe'));
  return folders.flatMap((folder) => places.map((place) => join(folder, place)));
}

/** Why this program is no Chromium that works, as a sentence; undefined when it is one. */
async function findFault(path) {
  if (!isExecutable(path)) return 'there is no such program, or this user may not run it.';
  // A profile of its own: the user's may be open in another Chromium, and a system user has no home.
  const profile = await mkdtemp(join(tmpdir(), 'tarefa-chromium-check-'));
  const flags = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-breakpad',
    '--disable-dev-shm-usage',
  ];
  const page = 'data:text/html,<script>document.write(`works: ${6*7}`)</script>';
  const args = [...flags, `--user-data-dir=${profile}`, '--dump-dom', page];
  const env = { HOME: profile, XDG_CONFIG_HOME: profile, XDG_CACHE_HOME: profile };
  const { stdout, fault } = await runProgram(path, args, { env, timeoutMs: 60_000 });
  await rm(profile, { recursive: true, force: true, maxRetries: 10 });
  if (fault === undefined && !stdout.includes('works: 42')) return 'it ended well, but showed no page.';
  return fault;
}

async function installUnderLock() {
  await takeLock();
  // Another process may have installed it while this one waited.
  faults.length = 0;
  const installed = (await findInstalled()) ?? (await install());
  if (installed === undefined) stop(whatWasTried());
  return installed;
}

function whatWasTried() {
  return [
    'No Chromium that works was found, and none could be installed. What was tried:',
    ...[...new Set(faults)].map((fault) => `  ${fault}`),
    'Install Chromium or Google Chrome with what your system has for it, or set CHROMIUM_PATH to the program of one',
    'that works. Then run this again.',
  ].join('\n');
}

async function install() {
  if (faults.length === 0) faults.push('Chromium or Google Chrome that is installed: there is none.');
  if (!hasProgram('apt-get') || !hasProgram('dpkg')) {
    faults.push('Debian’s package: apt-get and dpkg are not there.');
    return undefined;
  }
  const prefix = await privileges();
  const installed = prefix === undefined ? undefined : await installForAll(prefix);
  if (installed !== undefined || uid === 0) return installed;
  try {
    const path = await unpackChromium(packages, aptOptions);
    const fault = await findFault(path);
    if (fault === undefined) return path;
    faults.push(`${path}, just unpacked: ${fault}`);
  } catch (error) {
    faults.push(`Debian’s package, unpacked for this user: ${error.message}`);
  }
  return undefined;
}

/** What a command begins with that installs for all; undefined where this user may not. */
async function privileges() {
  if (uid === 0) return [];
  const { fault } = await runProgram('sudo', ['-n', 'true']);
  return fault === undefined ? ['sudo', '-n'] : undefined;
}

async function installForAll(prefix) {
  print('Installing Debian’s package of Chromium with apt-get, once.');
  const [command, ...quietly] = [
    ...prefix,
    'env',
    'DEBIAN_FRONTEND=noninteractive',
    'apt-get',
    ...aptOptions,
  ];
  const wait = ['-o', 'DPkg::Lock::Timeout=300', '-o', 'Dpkg::Options::=--force-confold'];
  const args = [...quietly, ...wait, 'install', '-y', '--no-install-recommends', ...packages];
  let { fault } = await runProgram(command, args);
  if (fault !== undefined) {
    // The lists of packages are not there yet, or name what is no longer offered.
    await runProgram(command, [...quietly, 'update']);
    ({ fault } = await runProgram(command, args));
  }
  if (fault === undefined) return findInstalled();
  faults.push(`apt-get install ${packages.join(' ')}: ${fault}`);
  return undefined;
}

/** One installation by this user at a time; the others wait for it and take what it made. */
async function takeLock() {
  const lock = join(tmpdir(), `tarefa-chromium-install-${uid ?? 'user'}`);
  await takeInstallLock(lock, () => print('Waiting for another installation of Chromium to end.')).catch(
    (error) => stop(error.message),
  );
  exitOnSignals();
}

function hasProgram(name) {
  return pathFolders().some((folder) => isExecutable(join(folder, name)));
}

function pathFolders() {
  return (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function print(line) {
  process.stderr.write(`${line}\n`);
}

function stop(text) {
  print(text);
  process.exit(1);
}
