import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { codeOf } from './error-facts.js';

/** A process that can be told from a later one with the same id. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it started, in the words of the operating system; undefined where it does not say. */
  readonly started: string | undefined;
}

interface RunningProcess extends ProcessIdentity {
  readonly command: readonly string[];
  readonly folder: string | undefined;
}

const hasProc = existsSync('/proc/self/stat');

/** This process. */
export function ownIdentity(): ProcessIdentity {
  return { pid: process.pid, started: findProcess(process.pid)?.started };
}

/** Whether that very process still runs; a later one with its id does not count. */
export function isRunning(identity: ProcessIdentity): boolean {
  const found = findProcess(identity.pid);
  if (found === undefined) return false;
  if (found.started === undefined || identity.started === undefined) return true;
  return found.started === identity.started;
}

/** Whether `pid` is a PostgreSQL server of the data directory `data`, and not a process that got its id. */
export function isServerOf(pid: number, data: string): boolean {
  const found = findProcess(pid);
  if (found === undefined) return false;
  // Without a command line (Windows) the lock file is believed, as PostgreSQL itself does.
  if (found.command.length === 0) return true;
  if (!basename(found.command[0] ?? '').startsWith('postgres')) return false;
  // One argument here, one among others where `ps` does not part them.
  return found.folder === data || found.command.some((argument) => ` ${argument} `.includes(` ${data} `));
}

/** PostgreSQL's processes that work in the data directory `data`; none where the system does not show folders. */
export function findProcessesOf(data: string): readonly number[] {
  if (!hasProc) return [];
  const all = readdirSync('/proc').map(Number);
  return all.filter((pid) => folderOf(pid) === data && isServerOf(pid, data));
}

function findProcess(pid: number): RunningProcess | undefined {
  if (!Number.isSafeInteger(pid) || pid <= 0 || !exists(pid)) return undefined;
  if (hasProc) return fromProc(pid);
  if (process.platform === 'win32') return unknownProcess(pid);
  return fromPs(pid);
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

function unknownProcess(pid: number): RunningProcess {
  return { pid, started: undefined, command: [], folder: undefined };
}

function fromProc(pid: number): RunningProcess | undefined {
  const stat = textOf(`/proc/${pid}/stat`);
  if (stat === undefined) return exists(pid) ? unknownProcess(pid) : undefined;
  // The second field is the name in parentheses and may hold anything; the third is the state, the 22nd the start.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (isDead(fields[0])) return undefined;
  const boot = textOf('/proc/sys/kernel/random/boot_id')?.trim() ?? '';
  return {
    pid,
    started: `${boot}/${fields[19] ?? ''}`,
    command: (textOf(`/proc/${pid}/cmdline`) ?? '').split('\0').filter((argument) => argument !== ''),
    folder: folderOf(pid),
  };
}

function fromPs(pid: number): RunningProcess | undefined {
  let line: string;
  try {
    line = execFileSync('ps', ['-ww', '-o', 'stat=,lstart=,command=', '-p', String(pid)], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] ?? '/bin:/usr/bin', LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return exists(pid) ? unknownProcess(pid) : undefined;
  }
  // `Ss   Sat Nov 21 07:53:00 2026 /path/postgres -D /data`
  const [, state, started, command] = /^(\S+)\s+(\S+\s+\S+\s+\d+\s+[\d:]+\s+\d+)\s+(.*)$/.exec(line) ?? [];
  if (isDead(state)) return undefined;
  return { pid, started, command: command === undefined ? [] : splitCommand(command), folder: undefined };
}

/** The program and the rest; `ps` does not say where one argument ends. */
function splitCommand(command: string): readonly string[] {
  const end = command.indexOf(' -');
  return end === -1 ? [command] : [command.slice(0, end), command.slice(end + 1)];
}

/** A zombie has ended; it only waits for its parent, and in a container its parent may never reap it. */
function isDead(state: string | undefined): boolean {
  return state === undefined ? false : /^[ZX]/.test(state);
}

function folderOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return undefined;
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
