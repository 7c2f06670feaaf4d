import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { cleanEnvironment } from './clean-environment.js';
import type { CallMessage, ChildCalls, ChildMessage } from './child-calls.js';

const childFile = fileURLToPath(new URL('child.js', import.meta.url));
/** No call takes this long: something hangs. */
const callLimitMs = 30 * 60_000;

interface Pending {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

/** A child process that runs one queue's adapter, for inserting or for working. */
export class BenchProcess {
  /** Handlers that have started in it, as it told last. */
  started = 0;
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, Pending>();
  readonly #exited: Promise<void>;
  #calls = 0;
  #onStarted: (() => void) | undefined;

  /** @param node the Node.js that runs it */
  constructor(node: string) {
    this.#child = fork(childFile, [], {
      execPath: node,
      execArgv: [],
      env: cleanEnvironment(),
      // What a queue prints goes to our standard error: standard output has the results only.
      stdio: ['ignore', 2, 2, 'ipc'],
    });
    this.#child.on('message', (message: ChildMessage) => this.#receive(message));
    this.#exited = new Promise((resolve) => {
      this.#child.once('exit', () => resolve());
      this.#child.once('error', () => resolve());
    });
    void this.#exited.then(() => this.#fail(new Error('the child process ended')));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  call<Name extends keyof ChildCalls>(
    method: Name,
    ...args: Parameters<ChildCalls[Name]>
  ): ReturnType<ChildCalls[Name]> {
    this.#calls += 1;
    const message: CallMessage = { id: this.#calls, method, args };
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${method} was not answered`)), callLimitMs);
      const settle = { resolve, reject };
      this.#pending.set(message.id, {
        resolve: (result) => (clearTimeout(timer), settle.resolve(result)),
        reject: (error) => (clearTimeout(timer), settle.reject(error)),
      });
      this.#child.send(message, (error) => error && this.#pending.get(message.id)?.reject(error));
    }) as ReturnType<ChildCalls[Name]>;
  }

  /** Calls back each time the process tells how many handlers have started. */
  onStarted(told: () => void): void {
    this.#onStarted = told;
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  #receive(message: ChildMessage): void {
    if ('started' in message) {
      this.started = message.started;
      this.#onStarted?.();
      return;
    }
    const pending = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (message.error === undefined) pending?.resolve(message.result as never);
    else pending?.reject(new Error(message.error));
  }

  #fail(error: Error): void {
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}
