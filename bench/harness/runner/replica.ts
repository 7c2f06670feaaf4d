import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { readRecord, type DescriptorRecord, type SampleRecord } from '../adapter/records.js';

const startLimitMs = 60_000;

/** How a replica is started. */
export interface ReplicaCommand {
  readonly node: string;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
}

/** How a replica ended. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** One running adapter process. */
export class Replica {
  readonly descriptor: DescriptorRecord;
  readonly #child: ChildProcess;
  readonly #ended: Promise<Ending>;
  readonly #atExit: () => void;
  /** How it ended by itself; undefined while it runs, and after it was told to end. */
  #fault: Ending | undefined;
  #isAskedToEnd = false;

  /** Starts one and resolves with it when it has told its descriptor. */
  static async start(command: ReplicaCommand, onSample: (sample: SampleRecord) => void): Promise<Replica> {
    const child = spawn(command.node, [...command.args], {
      env: command.environment,
      stdio: ['ignore', 'pipe', 2],
    });
    const output = child.stdout;
    if (output === null) throw new Error('an adapter has a standard output');
    const ended = once(child, 'exit').then(([code, signal]): Ending => ({ code, signal }));
    const descriptor = new Promise<DescriptorRecord>((resolve) => {
      createInterface({ input: output }).on('line', (line) => {
        const record = readRecord(line);
        if (record?.kind === 'descriptor') resolve(record);
        else if (record !== undefined) onSample(record);
      });
    });
    const limit = new AbortController();
    const told = await Promise.race([
      descriptor,
      ended.then(({ code, signal }) => `ended with ${code ?? signal} before it told its descriptor`),
      pause(startLimitMs, `told no descriptor in ${startLimitMs / 1_000} s`, { signal: limit.signal }),
    ]);
    limit.abort();
    if (typeof told === 'object') return new Replica(child, ended, told);
    child.kill('SIGKILL');
    throw new Error(`an adapter ${told}`);
  }

  private constructor(child: ChildProcess, ended: Promise<Ending>, descriptor: DescriptorRecord) {
    this.#child = child;
    this.#ended = ended;
    this.descriptor = descriptor;
    this.#atExit = () => void child.kill('SIGKILL');
    // Nobody else would end it after the runner.
    process.on('exit', this.#atExit);
    void ended.then((ending) => {
      process.off('exit', this.#atExit);
      if (!this.#isAskedToEnd) this.#fault = ending;
    });
  }

  get fault(): Ending | undefined {
    return this.#fault;
  }

  async kill(): Promise<void> {
    this.#isAskedToEnd = true;
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  /** Sends SIGTERM, and SIGKILL after the grace. Resolves with how it ended and how long that took. */
  async stop(graceMs: number): Promise<Ending & { readonly tookMs: number }> {
    this.#isAskedToEnd = true;
    const begun = performance.now();
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), graceMs);
    const ending = await this.#ended;
    clearTimeout(timer);
    return { ...ending, tookMs: Math.round(performance.now() - begun) };
  }
}
