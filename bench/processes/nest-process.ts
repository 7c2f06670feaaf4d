import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { inSources } from '../folders.js';
import { cleanEnvironment } from './clean-environment.js';

/** What loading a queue cost an application. */
export interface Imports {
  readonly importMs: number;
  readonly importCpuMs: number;
}

/** What an application uses now, and has used. */
export interface Weight {
  readonly rssMb: number;
  readonly cpuMs: number;
}

const answerLimitMs = 60_000;
const file = inSources('peers/nest-application.mjs');

/** A process with a small Nest application in it, and nothing of the benchmark. */
export class NestProcess {
  readonly imports: Imports;
  readonly #child: ChildProcess;

  /** Resolves when the application is up. */
  static async start(node: string, args: readonly string[]): Promise<NestProcess> {
    const child = fork(file, args, {
      execPath: node,
      execArgv: ['--expose-gc'],
      env: cleanEnvironment(),
      stdio: ['ignore', 2, 2, 'ipc'],
    });
    try {
      return new NestProcess(child, await answerOf<Imports>(child));
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
  }

  private constructor(child: ChildProcess, imports: Imports) {
    this.#child = child;
    this.imports = imports;
  }

  /** @param collect collects garbage first */
  async weigh({ collect }: { readonly collect: boolean }): Promise<Weight> {
    const answer = answerOf<Weight>(this.#child);
    this.#child.send({ collect });
    return answer;
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}

/** The next message of a process. */
function answerOf<Answer>(child: ChildProcess): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      clearTimeout(timer);
      child.off('message', answered).off('exit', exited);
    };
    const answered = (answer: unknown): void => (settle(), resolve(answer as Answer));
    const exited = (): void => (settle(), reject(new Error('the Nest application ended')));
    const timer = setTimeout(() => {
      settle();
      reject(new Error(`the Nest application has not answered for ${answerLimitMs / 1_000} s`));
    }, answerLimitMs);
    child.once('message', answered).once('exit', exited);
  });
}
