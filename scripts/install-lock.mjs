// One installation at a time, whoever started it. Only what Node brings: the packages may not be there yet.
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';

/** No installation takes this long: then the process id in the lock is another's. */
const mostMs = 20 * 60_000;

/**
 * Waits for the lock, and keeps it until this process ends.
 *
 * @param file where the lock is
 * @param say told once what is waited for
 * @throws when the file cannot be written
 */
export async function takeInstallLock(file, say) {
  for (let told = false; !take(file); told = true) {
    if (!told) say();
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  process.on('exit', () => rmSync(file, { force: true }));
}

/** Lets a signal end this process as its own end would, which gives the lock back. */
export function exitOnSignals() {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ])
    process.on(signal, () => process.exit(code));
}

function take(file) {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST')
      throw new Error(`${file} cannot be written: ${error.message}`, { cause: error });
  }
  if (!isHeld(file)) rmSync(file, { force: true });
  return false;
}

/** Whether its process still runs. */
function isHeld(file) {
  try {
    if (Date.now() - statSync(file).mtimeMs > mostMs) return false;
    const pid = Number(readFileSync(file, 'utf8'));
    // Empty: it is being written at this moment.
    return pid === 0 || process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
}
