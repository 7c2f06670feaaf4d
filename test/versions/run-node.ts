import { execFile } from 'node:child_process';
import { join } from 'node:path';

/** Runs a script of this repository to its end. */
export function runNode(
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number; readonly output: string; readonly errors: string }> {
  const cwd = join(import.meta.dirname, '../..');
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [script, ...args],
      { cwd, env: { ...process.env, ...env } },
      (_, output, errors) => resolve({ code: child.exitCode ?? -1, output, errors }),
    );
  });
}
