import { spawn } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { isRunning } from '../../lib/embedded/process-table.js';

const limitMs = 60_000;

/** How a running server was started: it is started again by the same command, on the same port. */
interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly owner: { readonly uid: number; readonly gid: number };
}

/** Stops a server as an operator would, rolling open transactions back, and resolves when its process is gone. */
export async function stopProcess(dataDir: string): Promise<void> {
  const pid = Number(readFileSync(join(dataDir, 'postmaster.pid'), 'utf8').split('\n')[0]);
  process.kill(pid, 'SIGINT');
  await until(async () => !isRunning({ pid, started: undefined }), `PostgreSQL (process ${pid}) ends`);
}

/** Starts a stopped server as it was started before, and resolves with its process id when it takes connections. */
export async function startProcess(dataDir: string, url: string): Promise<number> {
  const { program, args, owner } = readCommand(dataDir);
  // As at its first start: detached from the terminal, and never as root.
  const child = spawn(program, args, {
    cwd: dirname(program),
    detached: true,
    stdio: 'ignore',
    ...(process.getuid?.() === 0 ? owner : {}),
  });
  child.unref();
  await until(() => answers(url), 'PostgreSQL takes connections');
  return child.pid ?? 0;
}

/** PostgreSQL notes its command line beside its files: the program, then every argument in double quotes. */
function readCommand(dataDir: string): Command {
  const line = readFileSync(join(dataDir, 'postmaster.opts'), 'utf8').trim();
  const [program = ''] = line.split(' "');
  const args = [...line.matchAll(/ "([^"]*)"/g)].map((match) => match[1] ?? '');
  const { uid, gid } = statSync(dataDir);
  return { program, args, owner: { uid, gid } };
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('select 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function until(look: () => Promise<boolean>, what: string): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await look())) {
    if (performance.now() > end) throw new Error(`${what}: not within ${limitMs / 1_000} s`);
    await pause(50);
  }
}
