// Prints the folder of an unpacked MariaDB or MySQL for the tests: `server` in it starts it. It unpacks Debian's packages
// where they are not there yet. Only what Node brings. Usage: node scripts/install-mysql.mjs mariadb|mysql [--optional]
// With --optional it prints nothing when it is there, and ends well when it cannot be had: its tests are left out then.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exitOnSignals, takeInstallLock } from './install-lock.mjs';
import { findFault, servers, unpackedServer, unpackServer } from './unpack-mysql.mjs';

const [flavour, option] = process.argv.slice(2);
const isOptional = option === '--optional';
if (!Object.hasOwn(servers, flavour ?? '')) {
  print('Usage: node scripts/install-mysql.mjs mariadb|mysql [--optional]');
  process.exit(1);
}
const { title } = servers[flavour];
// One that is running somewhere is taken instead.
const isNeedless = isOptional && Boolean(process.env[`${flavour.toUpperCase()}_URL`]);
const place = isNeedless ? '' : ((await findWorking()) ?? (await installUnderLock()));
if (!isOptional) process.stdout.write(`${String(place)}\n`);

async function findWorking() {
  const unpacked = unpackedServer(flavour);
  return unpacked !== undefined && (await findFault(flavour, unpacked)) === undefined ? unpacked : undefined;
}

/** One installation by this user at a time; the others wait for it and take what it made. */
async function installUnderLock() {
  const lock = join(tmpdir(), `tarefa-${flavour}-install-${process.getuid?.() ?? 'user'}`);
  await takeInstallLock(lock, () => print(`Waiting for another installation of ${title} to end.`)).catch(
    (error) => stop(error.message),
  );
  exitOnSignals();
  try {
    return (await findWorking()) ?? (await unpackServer(flavour));
  } catch (error) {
    return stop(
      `${title} for the tests cannot be had. Debian’s package, unpacked for this user: ${error.message}\n` +
        `On another system than Debian, start one and set ${flavour.toUpperCase()}_URL to its address.`,
    );
  }
}

function print(line) {
  process.stderr.write(`${line}\n`);
}

function stop(text) {
  print(text);
  process.exit(isOptional ? 0 : 1);
}
