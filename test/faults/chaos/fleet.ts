import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { QueueModuleOptions } from '../../../lib/index.js';
import { startProxy, type DatabaseProxy } from '../../support/database-proxy.js';
import type { ArmedPoint } from './failpoints.js';
import { now, type HistoryWriter } from './history.js';
import type { WorkerOrder, WorkerReport, WorkerWord } from './messages.js';

/** What a fleet works with. */
export interface FleetParts {
  /** Where it is may change. */
  readonly database: { readonly url: string };
  /** The compiled `test/support/children/chaos-worker.js`. */
  readonly program: string;
  readonly historyFolder: string;
  readonly history: HistoryWriter;
  readonly options: QueueModuleOptions;
  /** Rows that a worker holds now. */
  readonly heldBy: (workerId: string) => Promise<readonly string[]>;
}

/** A process that ended though nobody made it end, or that did not end when it should. */
export interface Mishap {
  readonly what: string;
  readonly output: string;
}

const leaveMs = 45_000;

/** One worker process and the network between it and the database; started again whenever it is gone. */
export class WorkerSlot {
  readonly #parts: FleetParts;
  readonly #mishaps: Mishap[];
  #process: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();
  #closedProxy: Promise<void> | undefined;
  #running = true;
  #reports = 0;
  /** Undefined until the process is at work. */
  workerId: string | undefined;

  private constructor(
    readonly proxy: DatabaseProxy,
    parts: FleetParts,
    mishaps: Mishap[],
  ) {
    this.#parts = parts;
    this.#mishaps = mishaps;
  }

  static async start(parts: FleetParts, mishaps: Mishap[]): Promise<WorkerSlot> {
    const slot = new WorkerSlot(await startProxy(parts.database), parts, mishaps);
    slot.#launch();
    return slot;
  }

  /** The process, when it is at work. */
  get process(): ChildProcess | undefined {
    return this.workerId === undefined ? undefined : this.#process;
  }

  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  order(order: WorkerOrder): void {
    if (this.#process?.connected) this.#process.send(order, () => undefined);
  }

  /** The next word of that type; undefined when the process ends before, or says nothing for so long. */
  async hear<Type extends WorkerWord['type']>(
    type: Type,
    withinMs: number,
    matches: (word: Extract<WorkerWord, { type: Type }>) => boolean = () => true,
  ): Promise<Extract<WorkerWord, { type: Type }> | undefined> {
    const from = this.#process;
    if (!from) return undefined;
    const timeout = AbortSignal.timeout(withinMs);
    return new Promise((resolve) => {
      const finish = (word?: Extract<WorkerWord, { type: Type }>): void => {
        from.off('message', look);
        from.off('exit', none);
        timeout.removeEventListener('abort', none);
        resolve(word);
      };
      const none = (): void => finish();
      const look = (word: WorkerWord): void => {
        if (word.type === type && matches(word as never)) finish(word as never);
      };
      from.on('message', look);
      from.on('exit', none);
      timeout.addEventListener('abort', none);
    });
  }

  async report(withinMs = 2_000): Promise<WorkerReport | undefined> {
    const n = ++this.#reports;
    const heard = this.hear('report', withinMs, (word) => word.n === n);
    this.order({ type: 'report', n });
    return heard;
  }

  /** Waits until the process that runs now has ended. */
  async gone(withinMs: number): Promise<boolean> {
    const { pid } = this;
    await Promise.race([this.#ended, pause(withinMs, undefined, { ref: false })]);
    return this.pid !== pid || this.#process === undefined;
  }

  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  /** Asks the process to leave by SIGTERM; one that does not is killed, and that is written down. */
  async restart(): Promise<boolean> {
    this.signal('SIGTERM');
    if (await this.gone(leaveMs)) return true;
    this.#mishaps.push({
      what: `worker ${this.pid} did not end within ${leaveMs} ms of SIGTERM`,
      output: '',
    });
    this.signal('SIGKILL');
    await this.gone(5_000);
    return false;
  }

  /** Closes the application for good; the process then has to end by itself. */
  async close(): Promise<void> {
    this.#running = false;
    this.order({ type: 'close' });
    if (!(await this.gone(leaveMs))) {
      this.#mishaps.push({
        what: `worker ${this.pid} did not end after its application was closed`,
        output: '',
      });
      this.signal('SIGKILL');
    }
    await this.end();
  }

  /** Ends the process at once. May be called again. */
  async end(): Promise<void> {
    this.#running = false;
    this.signal('SIGKILL');
    await this.#ended;
    this.#closedProxy ??= this.proxy.close();
    await this.#closedProxy;
  }

  /** Resolves when the process is at work. */
  async ready(withinMs: number): Promise<boolean> {
    const deadline = performance.now() + withinMs;
    while (this.workerId === undefined) {
      if (performance.now() > deadline) return false;
      await pause(50);
    }
    return true;
  }

  #launch(points: readonly ArmedPoint[] = []): void {
    const { program, historyFolder, options } = this.#parts;
    const child = fork(program, [], {
      env: {
        ...process.env,
        DATABASE_URL: this.proxy.url,
        QUEUE_OPTIONS: JSON.stringify(options),
        CHAOS_HISTORY: historyFolder,
        CHAOS_POINTS: JSON.stringify(points),
      },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      // Ctrl-C is the runner's business.
      detached: true,
    });
    this.#process = child;
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-4_000)));
    }
    child.on('message', (word: WorkerWord) => {
      if (word.type === 'ready') this.workerId = word.workerId;
      if (word.type === 'looping') child.kill('SIGKILL');
    });
    this.#ended = once(child, 'exit').then(([code, signal]) =>
      this.#end(code as number | null, signal as string | null, output),
    );
  }

  async #end(code: number | null, signal: string | null, output: string): Promise<void> {
    const { history, heldBy } = this.#parts;
    const { pid, workerId } = this;
    history.write({ event: 'exit', pid, at: now().at });
    this.#process = undefined;
    this.workerId = undefined;
    // Boots fail while the database is down, and 9 is the exit code of tasks that end their process.
    const isKnown = signal !== null || code === 9 || !this.#running || workerId === undefined;
    if (!isKnown)
      this.#mishaps.push({ what: `worker ${pid} ended by itself with exit code ${code}`, output });
    if (workerId !== undefined && signal !== 'SIGTERM' && this.#running) {
      const { wall } = now();
      void heldBy(workerId).then((ids) => {
        if (ids.length > 0) history.write({ event: 'death', workerId, ids, wall });
      });
    }
    if (!this.#running) return;
    if (workerId === undefined) await pause(200);
    if (this.#running) this.#launch();
  }
}
