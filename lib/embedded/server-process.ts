import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { TarefaError } from '../errors.js';
import { keepOwner, type DataDirectory } from './data-directory.js';
import { codeOf } from './error-facts.js';
import type { RunnableBinaries } from './postgres-binaries.js';
import { findProcessesOf, isServerOf } from './process-table.js';
import { programOptions, runProgram } from './run-program.js';
import type { ServerUser } from './server-user.js';
import { waitUntil } from './wait-until.js';

/** A running server. */
export interface ServerProcess {
  readonly pid: number;
  readonly port: number;
  /** Whether it has told that it takes connections. */
  readonly ready: boolean;
}

const startTimeoutMs = 120_000;
const stopTimeoutMs = 30_000;
const retryForMs = 20_000;

/** The live server of this very data directory, as its lock file names it. */
export function findServer(directory: DataDirectory): ServerProcess | undefined {
  // process id, data directory, start time, port, socket folder, address, shared memory, status
  const lines = readLockFile(directory);
  const pid = Number(lines[0]);
  if (resolve(lines[1] ?? '') !== directory.data || !isServerOf(pid, directory.data)) return undefined;
  return { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' };
}

/**
 * Starts a server on a free loopback port. Tries again when another program took that port in the meantime, and
 * for some seconds while processes of a server that was killed have not ended yet.
 */
export async function launchServer(
  directory: DataDirectory,
  binaries: RunnableBinaries,
  user: ServerUser | undefined,
  settings: Readonly<Record<string, string>>,
): Promise<ServerProcess> {
  let reason = '';
  const launch = async (): Promise<ServerProcess | 'failed' | undefined> => {
    disownLockFile(directory);
    const launched = await launchOnce(directory, binaries, user, [
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ...['-c', 'listen_addresses=127.0.0.1', '-c', `port=${await findFreePort()}`],
      ...['-c', 'unix_socket_directories=', '-c', 'logging_collector=off', '-c', 'log_destination=stderr'],
      // Whatever its files ask for: why a start failed is read in its log.
      ...['-c', 'lc_messages=C'],
    ]);
    if (typeof launched === 'object') return launched;
    reason = launched;
    if (isPortTaken(launched)) return undefined;
    if (!isOutlived(launched)) return 'failed';
    endSurvivors(directory);
    return undefined;
  };
  const outcome = await waitUntil(launch, { everyMs: 50, timeoutMs: retryForMs });
  if (typeof outcome === 'object') return outcome;
  throw new TarefaError(
    'EMBEDDED_START_FAILED',
    `PostgreSQL did not start on ${directory.data}. The end of ${directory.logFile}:\n${reason}`,
  );
}

/** Stops the server (fast: transactions are rolled back, files are flushed) and waits until it is gone. */
export async function stopServer(
  server: ServerProcess,
  directory: DataDirectory,
  binaries: RunnableBinaries,
): Promise<void> {
  const gone = () => (isServerOf(server.pid, directory.data) ? undefined : true);
  if (process.platform === 'win32') {
    await runProgram(binaries.pgCtl, ['stop', '-m', 'fast', '-W', '-D', directory.data], undefined);
  } else {
    signalServer(server.pid, 'SIGINT');
  }
  if (await waitUntil(gone, { everyMs: 10, timeoutMs: stopTimeoutMs })) return;
  signalServer(server.pid, 'SIGQUIT');
  if (await waitUntil(gone, { everyMs: 10, timeoutMs: stopTimeoutMs })) return;
  throw new TarefaError(
    'EMBEDDED_START_FAILED',
    `The embedded PostgreSQL (process ${server.pid}) does not stop. The end of ${directory.logFile}:\n` +
      logTail(directory),
  );
}

/** Signals the server; SIGINT asks for a fast shutdown, SIGQUIT for one without flushing. */
export function signalServer(pid: number, signal: 'SIGINT' | 'SIGQUIT'): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}

/** One launch: the server, or the end of its log when it ended before it was ready. */
async function launchOnce(
  directory: DataDirectory,
  binaries: RunnableBinaries,
  user: ServerUser | undefined,
  args: readonly string[],
): Promise<ServerProcess | string> {
  const log = openLog(directory);
  // Detached, so that Ctrl-C reaches only the application, which then stops the server when it has finished with
  // it; and with a file for its output, because a pipe would end with the process that started it.
  const child = spawn(binaries.postgres, ['-D', directory.data, ...args], {
    ...programOptions(binaries.postgres, user),
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  child.unref();
  let ended: string | undefined;
  child.once('error', (error) => (ended = error.message));
  child.once('exit', () => (ended ??= logTail(directory)));
  const outcome = await waitUntil(() => ended ?? readyServer(directory, child.pid), {
    everyMs: 5,
    timeoutMs: startTimeoutMs,
  });
  child.removeAllListeners();
  return outcome ?? `${logTail(directory)}\n(still not ready after ${startTimeoutMs / 1000} s)`;
}

function readyServer(directory: DataDirectory, pid: number | undefined): ServerProcess | undefined {
  const server = findServer(directory);
  return server?.ready && server.pid === pid ? server : undefined;
}

/**
 * Frees the start from a lock file whose process id now belongs to another program, at which PostgreSQL would
 * give up. The file must stay: its line on shared memory is how PostgreSQL notices processes that survived a
 * killed server and still write. A file that names the parent of the new server is ignored apart from that line.
 */
function disownLockFile(directory: DataDirectory): void {
  const [pid, ...rest] = readLockFile(directory);
  if (pid === undefined || !isTaken(Number(pid)) || isServerOf(Number(pid), directory.data)) return;
  const file = lockFileOf(directory);
  // On Windows servers have no parent to compare with, and shared memory has the directory's name.
  if (process.platform === 'win32') rmSync(file, { force: true });
  else writeFileSync(file, [process.pid, ...rest].join('\n'));
}

/** As PostgreSQL looks at it: zombies count as living, other users' processes do not matter. */
function isTaken(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function readLockFile(directory: DataDirectory): readonly string[] {
  try {
    return readFileSync(lockFileOf(directory), 'utf8').split('\n');
  } catch {
    return [];
  }
}

function lockFileOf(directory: DataDirectory): string {
  return join(directory.data, 'postmaster.pid');
}

function openLog(directory: DataDirectory): number {
  rmSync(directory.logFile, { force: true });
  const file = openSync(directory.logFile, 'a', 0o600);
  keepOwner(directory.logFile, directory.home);
  return file;
}

function logTail(directory: DataDirectory): string {
  return readFileSync(directory.logFile, 'utf8').trim().split('\n').slice(-12).join('\n');
}

function isPortTaken(log: string): boolean {
  return log.includes('could not create any TCP/IP sockets');
}

/** Whether processes of an earlier server still use its memory. */
function isOutlived(log: string): boolean {
  return log.includes('pre-existing shared memory block');
}

/**
 * When the main process of a server is killed, one of its processes that is busy with a long statement notices
 * that only at its end. Its transaction is lost in any case, so it may as well end now.
 */
function endSurvivors(directory: DataDirectory): void {
  for (const pid of findProcessesOf(directory.data)) signalServer(pid, 'SIGQUIT');
}

function findFreePort(): Promise<number> {
  return new Promise((found, failed) => {
    const server = createServer();
    server.once('error', failed);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => found(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
