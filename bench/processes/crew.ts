import type { HandlerKind, Surroundings } from '../protocol.js';
import { BenchProcess } from './bench-process.js';

/** A process that works once it is told to. */
export interface Worker {
  readonly process: BenchProcess;
  /** Resolves when the worker runs; `target` and `children` as in `ChildCalls.work`. */
  readonly work: (kind: HandlerKind, target: number, children?: number) => Promise<void>;
}

/** The processes of one run: one that inserts and looks (the desk), and as many that work as the scenario starts. */
export class Crew {
  readonly #node: string;
  readonly #adapter: string;
  readonly #surroundings: Surroundings;
  readonly #processes: { kill(): Promise<void> }[] = [];
  #desk: BenchProcess | undefined;

  /**
   * @param node the Node.js that runs them
   * @param adapter address of the adapter's module
   */
  constructor(node: string, adapter: string, surroundings: Surroundings) {
    this.#node = node;
    this.#adapter = adapter;
    this.#surroundings = surroundings;
  }

  /** Starts the desk, and makes an empty queue. */
  protected async setUp(): Promise<void> {
    this.#desk = await this.addProducer();
    await this.#desk.call('setup');
  }

  /** The process that inserts and looks. */
  get desk(): BenchProcess {
    if (this.#desk === undefined) throw new Error('the desk has not started');
    return this.#desk;
  }

  /** Starts a process that does not work yet. */
  async addWorker(): Promise<Worker> {
    const process = await this.addProducer();
    return { process, work: (...args) => process.call('work', ...args) };
  }

  /** Starts another process that inserts. */
  async addProducer(): Promise<BenchProcess> {
    const process = new BenchProcess(this.#node);
    this.#processes.push(process);
    await process.call('open', this.#adapter, this.#surroundings);
    return process;
  }

  /** Lets another process end with the others. */
  protected adopt(process: { kill(): Promise<void> }): void {
    this.#processes.push(process);
  }

  /** Ends all processes, by killing them: what they leave behind goes with the database. */
  async endProcesses(): Promise<void> {
    await Promise.all(this.#processes.splice(0).map((process) => process.kill()));
  }
}
