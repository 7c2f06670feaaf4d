import { fork, type ChildProcess, type Serializable } from 'node:child_process';
import { join } from 'node:path';
import { inject } from 'vitest';

/** How a child is started. */
export interface ForkOptions {
  readonly args?: readonly string[];
  /** In addition to this process's environment; undefined removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** A program with arguments that runs the child's command line, such as one that enters a namespace. */
  readonly launcher?: readonly string[];
}

/** How a child ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** What a child may send; `type` says what it is. */
export interface ChildMessage {
  readonly type: string;
  readonly [field: string]: unknown;
}

const messageTimeoutMs = 25_000;
const living = new Set<Child>();

/** A program of `test/support/children`, running in a process of its own. */
export class Child {
  readonly process: ChildProcess;
  /** Resolves when the process has ended and all of its output has arrived. */
  readonly exit: Promise<Exit>;
  readonly #name: string;
  readonly #messages: ChildMessage[] = [];
  readonly #waiting = new Set<() => void>();
  #output = { stdout: '', stderr: '' };
  #ended: Exit | undefined;

  constructor(name: string, file: string, { args = [], env = {}, cwd, launcher = [] }: ForkOptions) {
    this.#name = name;
    const command: readonly string[] = [...launcher, process.execPath, '--enable-source-maps'];
    const [execPath = '', ...execArgv] = command;
    this.process = fork(file, args, {
      execPath,
      execArgv,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      ...(cwd === undefined ? {} : { cwd }),
    });
    this.process.stdout?.on('data', (chunk: Buffer) => (this.#output.stdout += chunk.toString()));
    this.process.stderr?.on('data', (chunk: Buffer) => (this.#output.stderr += chunk.toString()));
    this.process.on('message', (message: ChildMessage) => this.#receive(message));
    this.exit = new Promise((resolve, reject) => {
      this.process.once('error', reject);
      this.process.once('close', (code, signal) => {
        this.#ended = { code, signal };
        this.#wake();
        resolve(this.#ended);
      });
    });
  }

  get pid(): number {
    const { pid } = this.process;
    if (pid === undefined) throw new Error(`child "${this.#name}" could not be started`);
    return pid;
  }

  /** What it has printed so far. */
  get stdout(): string {
    return this.#output.stdout;
  }

  get stderr(): string {
    return this.#output.stderr;
  }

  /** Every message so far, in order. */
  get messages(): readonly ChildMessage[] {
    return this.#messages;
  }

  /**
   * The first message of that type (or for which the function says yes), whether it has come already or not.
   * Rejects, with all that the child printed, when it ends without having sent it.
   */
  message(
    wanted: string | ((message: ChildMessage) => boolean),
    timeoutMs = messageTimeoutMs,
  ): Promise<ChildMessage> {
    const matches = typeof wanted === 'string' ? ({ type }: ChildMessage) => type === wanted : wanted;
    return new Promise((resolve, reject) => {
      const settle = (): boolean => {
        const found = this.#messages.find(matches);
        if (found !== undefined) resolve(found);
        else if (this.#ended !== undefined)
          reject(this.#missing(wanted, `ended with ${describe(this.#ended)}`));
        return found !== undefined || this.#ended !== undefined;
      };
      if (settle()) return;
      const timer = setTimeout(() => {
        this.#waiting.delete(look);
        reject(this.#missing(wanted, `did not send it in ${timeoutMs} ms`));
      }, timeoutMs);
      const look = (): void => {
        if (!settle()) return;
        clearTimeout(timer);
        this.#waiting.delete(look);
      };
      this.#waiting.add(look);
    });
  }

  send(message: Serializable): void {
    this.process.send(message);
  }

  kill(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    this.process.kill(signal);
    return this.exit;
  }

  #receive(message: ChildMessage): void {
    this.#messages.push(message);
    this.#wake();
  }

  #wake(): void {
    for (const look of this.#waiting) look();
  }

  #missing(wanted: unknown, what: string): Error {
    const name = typeof wanted === 'string' ? `message "${wanted}"` : 'the awaited message';
    return new Error(
      `child "${this.#name}" ${what}, and ${name} is missing.\nmessages: ${JSON.stringify(this.#messages)}\n` +
        `stdout: ${this.stdout}\nstderr: ${this.stderr}`,
    );
  }
}

/** Runs `test/support/children/<name>.ts` in a process of its own. What still runs at the end of the file is killed. */
export function forkChild(name: string, options: ForkOptions = {}): Child {
  return forkFile(join(inject('buildDir'), 'test/support/children', `${name}.js`), name, options);
}

/** The same for a JavaScript file elsewhere. */
export function forkFile(file: string, name: string, options: ForkOptions = {}): Child {
  const child = new Child(name, file, options);
  living.add(child);
  child.exit.then(
    () => living.delete(child),
    () => living.delete(child),
  );
  return child;
}

/** For the end of a test file. */
export async function killChildren(): Promise<void> {
  await Promise.all([...living].map((child) => child.kill('SIGKILL')));
}

function describe({ code, signal }: Exit): string {
  return signal === null ? `exit code ${code}` : signal;
}
