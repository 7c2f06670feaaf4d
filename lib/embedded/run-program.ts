import { spawn } from 'node:child_process';
import { dirname } from 'node:path';
import type { ServerUser } from './server-user.js';

/** How a program ended. */
export interface ProgramResult {
  /** Exit code; undefined when it was killed or could not be started. */
  readonly code: number | undefined;
  /** What it printed on both streams. */
  readonly output: string;
  /** Why it could not be started. */
  readonly error: NodeJS.ErrnoException | undefined;
}

/** Runs one of PostgreSQL's programs to its end, as `user` or (undefined) as ourselves. Never rejects. */
export function runProgram(
  file: string,
  args: readonly string[],
  user: ServerUser | undefined,
): Promise<ProgramResult> {
  return new Promise((resolve) => {
    const child = spawn(file, args, { ...programOptions(file, user), stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const collect = (chunk: Buffer): void => {
      output += chunk.toString('utf8');
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.on('error', (error) => resolve({ code: undefined, output, error }));
    child.on('close', (code) =>
      resolve({ code: code ?? undefined, output: output.trim(), error: undefined }),
    );
  });
}

/** Working folder, user and environment common to all of PostgreSQL's programs. */
export function programOptions(file: string, user: ServerUser | undefined) {
  return {
    // Our own working folder may be closed to the server's user.
    cwd: dirname(file),
    env: programEnvironment(),
    windowsHide: true,
    ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
  };
}

/** English messages, and none of the PG* variables that are meant for another server. */
function programEnvironment(): NodeJS.ProcessEnv {
  const kept = ['PATH', 'TZ', 'SystemRoot', 'TEMP', 'TMP'].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(kept), LC_ALL: 'C' };
}
