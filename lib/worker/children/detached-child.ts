import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { WorkerId } from '../../storage/attempt.js';
import { ownFile } from '../../values/own-file.js';
import type { RunningContext } from '../running/running-tasks.js';
import { bootMs, crashed, describeExit, nodeOptions } from './child.js';
import type { DetachedOrder, DetachedReport } from './messages.js';
import { deserializeError } from './serialized-error.js';

/**
 * The process of one attempt, as the worker sees it that starts it: until the process has taken the attempt over, that worker
 * ends it. Afterwards nothing does, and the worker only hears of its end while it lives itself.
 */
export class DetachedChild implements RunningContext {
  readonly completedElsewhere = undefined;
  readonly #order: DetachedOrder;
  readonly #maxMemoryMb: number | undefined;
  #process: ChildProcess | undefined;
  #workerId: WorkerId | undefined;
  /** Aborted when the attempt is to stop. */
  readonly #stop = new AbortController();
  #hasTakenOver = false;
  #cameLate = false;
  /** Why it could not make its application. */
  #refusal: Error | undefined;
  #exit: Promise<string> | undefined;

  constructor(order: DetachedOrder, maxMemoryMb: number | undefined) {
    this.#order = order;
    this.#maxMemoryMb = maxMemoryMb;
  }

  get aborted(): Error | undefined {
    return this.#stop.signal.reason as Error | undefined;
  }

  /** The worker that the process has registered; undefined before. */
  get workerId(): WorkerId | undefined {
    return this.#workerId;
  }

  /** True when the process found the attempt gone, or cancelled. */
  get cameLate(): boolean {
    return this.#cameLate;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** How the process has ended, once it has; undefined where none was started. */
  get exit(): Promise<string> | undefined {
    return this.#exit;
  }

  /** Ends the process, unless it has taken the attempt over. */
  abort(reason: Error): void {
    this.#stop.abort(reason);
    this.kill();
  }

  /** Nothing: a process that has taken the attempt over holds it rightly, and one that has not will not get it any more. */
  destroy(reason: Error): void {
    this.#stop.abort(reason);
  }

  /** Ends the process, unless it has taken the attempt over. */
  kill(): void {
    if (!this.#hasTakenOver) this.#process?.kill('SIGKILL');
  }

  /** Waits that long, unless the attempt is told to stop. */
  async pause(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: this.#stop.signal }).catch(() => undefined);
  }

  /** Resolves when the process has taken the attempt over, with undefined, or with why it has ended without. Never rejects. */
  async start(): Promise<Error | undefined> {
    try {
      return await this.#untilTakenOver(await this.#spawn());
    } catch (error) {
      return error as Error;
    }
  }

  /** Its output goes to a file, as nobody may be left to read it. In a group of its own signals of a terminal do not reach it. */
  async #spawn(): Promise<ChildProcess> {
    const { output } = this.#order;
    await mkdir(dirname(output), { recursive: true, mode: 0o700 });
    const file = await open(output, 'a', 0o600);
    try {
      this.#stop.signal.throwIfAborted();
      const main = ownFile('assembly/detached-main.js', 'a detached handler');
      // An argument that nothing reads but people, in the list of processes.
      const child = fork(fileURLToPath(main), [output], {
        detached: true,
        serialization: 'advanced',
        stdio: ['ignore', file.fd, file.fd, 'ipc'],
        execArgv: nodeOptions(this.#maxMemoryMb),
      });
      // Tells of its failure before it has a process id.
      if (child.pid === undefined) throw (await once(child, 'error'))[0];
      return child;
    } finally {
      await file.close();
    }
  }

  async #untilTakenOver(child: ChildProcess): Promise<Error | undefined> {
    this.#process = child;
    const takenOver = new Promise<void>((resolve) => {
      child.on('message', (report: DetachedReport) => {
        this.#heard(report);
        if (this.#hasTakenOver) resolve();
      });
    });
    // One that could not be told has ended.
    child.on('error', () => undefined);
    this.#exit = new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve(describeExit(code, signal, this.#maxMemoryMb)));
    });
    const late = setTimeout(() => this.kill(), bootMs);
    child.send(this.#order, () => undefined);
    const how = await Promise.race([takenOver, this.#exit]);
    clearTimeout(late);
    if (how === undefined) {
      // From now on it keeps this process no longer than that wants.
      child.disconnect();
      child.unref();
      return undefined;
    }
    return this.#refusal ?? crashed('process', how);
  }

  #heard(report: DetachedReport): void {
    switch (report.type) {
      case 'registered':
        this.#workerId = report.workerId;
        break;
      case 'taken over':
        this.#hasTakenOver = true;
        break;
      case 'came late':
        this.#cameLate = true;
        break;
      case 'refused':
        this.#refusal = deserializeError(report.error) as Error;
        break;
    }
  }
}
