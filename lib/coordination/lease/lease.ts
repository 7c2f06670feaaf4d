import { Worker } from 'node:worker_threads';
import { failureMessage } from '../../values/failure-text.js';
import type { LeaseOrders, LeaseReport, LeaseThread, LeaseWord } from '../lease-protocol.js';

export interface LeaseParts extends Omit<LeaseOrders, 'renewedAt' | 'database' | 'wasLost'> {
  readonly thread: LeaseThread;
  /** The lease is not renewed any more: told once, until it is again. */
  readonly lost: (error: unknown) => void;
  readonly restored: () => void;
}

/** How long the thread may take to end by itself. */
const goodbyeMs = 500;
/** One that ended by itself is replaced after that. */
const againMs = 1_000;

/** A place among the living that is renewed by a thread, whatever the event loop of the worker does. */
export class Lease {
  readonly #parts: LeaseParts;
  readonly #renewedAt = new BigInt64Array(new SharedArrayBuffer(8));
  /** The last one that was given. */
  #password: string | undefined;
  #worker: Worker | undefined;
  #ended: Promise<void> | undefined;
  #again: NodeJS.Timeout | undefined;
  #stopped = false;
  /** Why it was not renewed the last time; undefined when it was. */
  #failure: unknown;

  constructor(parts: LeaseParts) {
    this.#parts = parts;
    this.#password = parts.password;
  }

  /** True while no worker can have called this one lost: read from memory, so it costs nothing. */
  get valid(): boolean {
    const renewed = Atomics.load(this.#renewedAt, 0);
    if (renewed === 0n) return false;
    const ageMs = Number(process.hrtime.bigint() - renewed) / 1e6;
    return ageMs < this.#parts.leaseMs - this.#parts.renewMs / 2;
  }

  /** Why it was not renewed the last time; undefined when it was. */
  get failure(): unknown {
    return this.#failure;
  }

  /** Goes on from a first renewal that was sent at `sentAt`, by `process.hrtime`. */
  start(sentAt: bigint): void {
    Atomics.store(this.#renewedAt, 0, sentAt);
    this.#startThread();
  }

  /** Renews no more; what is left of it simply runs out. Idempotent. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#again);
    const worker = this.#worker;
    if (!worker) return;
    this.#worker = undefined;
    tell(worker, { type: 'stop' });
    const timer = setTimeout(() => void worker.terminate(), goodbyeMs);
    await this.#ended;
    clearTimeout(timer);
  }

  #startThread(): void {
    const { lost: _lost, restored: _restored, thread, ...orders } = this.#parts;
    const { database } = thread;
    const wasLost = this.#failure !== undefined;
    const workerData: LeaseOrders = {
      ...orders,
      database,
      password: this.#password,
      renewedAt: this.#renewedAt.buffer,
      wasLost,
    };
    const worker = new Worker(thread.module, { workerData });
    this.#worker = worker;
    worker.on('message', (report: LeaseReport) => {
      if (report.type === 'failed') this.#failed(report.error);
      else if (report.type === 'restored') this.#restored();
      else void this.#givePassword(worker);
    });
    let failure: unknown = new Error('the thread that renews the lease ended');
    worker.on('error', (error) => (failure = error));
    this.#ended = new Promise((resolve) => {
      worker.once('exit', () => {
        resolve();
        this.#gone(failure);
      });
    });
  }

  async #givePassword(worker: Worker): Promise<void> {
    try {
      const password = (await this.#parts.thread.password?.()) ?? '';
      this.#password = password;
      tell(worker, { type: 'password', password });
    } catch (error) {
      tell(worker, { type: 'no password', error: new Error(failureMessage(error)) });
    }
  }

  #failed(error: unknown): void {
    const isNew = this.#failure === undefined;
    this.#failure = error;
    if (isNew) this.#parts.lost(error);
  }

  #restored(): void {
    this.#failure = undefined;
    this.#parts.restored();
  }

  /** Nothing is left of the thread: another one takes its place. The lease itself may hold until then. */
  #gone(failure: unknown): void {
    if (this.#stopped) return;
    this.#failed(failure);
    this.#again = setTimeout(() => {
      try {
        this.#startThread();
      } catch (error) {
        this.#gone(error);
      }
    }, againMs);
  }
}

function tell(worker: Worker, word: LeaseWord): void {
  worker.postMessage(word);
}
