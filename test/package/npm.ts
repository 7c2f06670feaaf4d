import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Runs npm in a folder that is none of the repository's; rejects with what it printed. */
export async function npm(args: readonly string[], cwd: string): Promise<string> {
  const cli = process.env['npm_execpath'];
  const options = { cwd, env: outsideNpm() };
  try {
    const { stdout } = cli?.endsWith('npm-cli.js')
      ? await execute(process.execPath, [cli, ...args], options)
      : await execute('npm', args, { ...options, shell: process.platform === 'win32' });
    return stdout;
  } catch (cause) {
    throw new Error(`npm ${args.join(' ')} failed in ${cwd}:\n${printedBy(cause)}`, { cause });
  }
}

/** `npm test` sets variables for the package that it runs; the folder is another one. */
export function outsideNpm(): NodeJS.ProcessEnv {
  const isOfRun = /^npm_(package|lifecycle|config_local_prefix)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOfRun.test(name)));
}

function printedBy(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
  return `${stdout}${stderr}` || error.message;
}
