import { Readable } from 'node:stream';
import { join } from 'node:path';
import { inject } from 'vitest';
import { run } from '../../lib/cli/run.js';
import { forkFile, type Child } from '../support/processes.js';

/** What a command line said and how it ended. */
export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** With what a command line is run. */
export interface CliOptions {
  /** The whole environment: nothing of this process's own. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Standard input. */
  readonly input?: string | Readable;
  /** Columns of the terminal that standard output, input and error are; default: they are none. */
  readonly terminal?: number;
  /** Ctrl-C. */
  readonly signal?: AbortSignal;
  /** Told everything that standard output has had so far. */
  readonly onOutput?: (stdout: string) => unknown;
  /** The same of standard error. */
  readonly onError?: (stderr: string) => unknown;
}

/** Runs a command line in this process. */
export async function runCli(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const {
    env = {},
    input = '',
    terminal,
    signal = new AbortController().signal,
    onOutput,
    onError,
  } = options;
  const written = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') => ({
    isTTY: terminal !== undefined,
    columns: terminal,
    write: (text: string): void => {
      written[name] += text;
      if (name === 'stdout') onOutput?.(written.stdout);
      else onError?.(written.stderr);
    },
  });
  const reader = typeof input === 'string' ? Readable.from([input], { objectMode: false }) : input;
  Object.assign(reader, { isTTY: terminal !== undefined });
  const code = await run(args, {
    env,
    input: () => reader,
    out: stream('stdout'),
    err: stream('stderr'),
    signal,
  });
  return { code, ...written };
}

/** Runs the compiled command line in a process of its own. */
export function spawnCli(args: readonly string[], env: CliOptions['env'] = {}): Child {
  return forkFile(join(inject('buildDir'), 'lib/cli/main.js'), `tarefa ${args[0] ?? ''}`, { args, env });
}
